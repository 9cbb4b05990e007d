"""afterward says what became of an autograd graph: where it was built, freed and used again."""

__version__ = "0.1.0"
