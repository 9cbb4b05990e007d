"""A retriever that encodes each document once and keeps the result, with its graph, in a cache."""

import torch
from torch import nn


class Retriever(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 8))
        self.cache: dict[int, torch.Tensor] = {}

    def embed(self, number: int, document: torch.Tensor) -> torch.Tensor:
        if number not in self.cache:
            self.cache[number] = self.encoder(document)
        return self.cache[number]


torch.manual_seed(0)
documents = torch.randn(6, 12)
model = Retriever()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(3):
    for number, document in enumerate(documents):
        query = model.encoder(document + 0.1 * torch.randn(12))
        loss = 1 - torch.cosine_similarity(query, model.embed(number, document), dim=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
