"""What torch does, as far as the life of the graph is concerned."""
