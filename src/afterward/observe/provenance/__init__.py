"""Where a value came from, and what the program calls it."""
