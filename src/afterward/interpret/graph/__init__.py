"""The graph of an interpreted program, and what is kept of it."""
