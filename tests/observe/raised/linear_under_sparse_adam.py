import torch
from torch import nn

embedding, head = nn.Embedding(20, 4, sparse=True), nn.Linear(4, 1)
optimizer = torch.optim.SparseAdam([*embedding.parameters(), *head.parameters()], lr=0.01)
for ids in [torch.tensor([1, 2]), torch.tensor([3, 4])]:
    optimizer.zero_grad()
    head(embedding(ids)).pow(2).mean().backward()
    optimizer.step()  # raises AFT515: head.weight
