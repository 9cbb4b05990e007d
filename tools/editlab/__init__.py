"""Checks that a patch never breaks a file: made-up faults on real and on generated code, and what must hold."""
