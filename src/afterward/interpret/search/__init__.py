"""Which runs of a program are tried, and what none of them came to."""
