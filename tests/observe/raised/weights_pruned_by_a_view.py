import torch, torch.nn as nn
layer = nn.Linear(3, 3)
def sparsify(weight, k):
    flat = weight.view(-1)
    flat[torch.topk(flat.abs(), k, largest=False).indices] = 0.0  # raises AFT501: flat
sparsify(layer.weight, 4)
