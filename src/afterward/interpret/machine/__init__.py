"""Runs statements, expressions and calls on abstract values."""
