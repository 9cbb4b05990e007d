"""A pass that failed: what is left of its graph."""
