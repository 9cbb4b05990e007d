"""One program, asked of both engines; and what happens when PyTorch's own advice is followed."""
