"""Who was executing what: the stream of marks turned back into calls, loops and iterations."""
