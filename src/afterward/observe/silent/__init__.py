"""Faults that raise nothing: looks at a running program."""
