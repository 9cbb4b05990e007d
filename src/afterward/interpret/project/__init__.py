"""The files of a project: sources, imports, notebooks."""
