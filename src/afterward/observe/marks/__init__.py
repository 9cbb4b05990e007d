"""Which statement runs: marks in the program's own code, and how a program is started with them."""
