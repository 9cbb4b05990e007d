"""The workbench of the life-cycle model: random programs, run on the model and on PyTorch side by side."""
