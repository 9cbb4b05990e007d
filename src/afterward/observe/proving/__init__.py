"""Runs that are to prove a patch: what they are measured by. A watched program is never measured like this."""
