"""Hostile input: what afterward reads, damaged in every way."""
