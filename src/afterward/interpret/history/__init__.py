"""Writes the `History` of an interpreted program."""
