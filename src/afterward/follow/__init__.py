"""Follows a value back through the statements that handed it on: as they ran, or as they were interpreted."""
