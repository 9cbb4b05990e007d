"""Two heads on one trunk: one sum, one backward pass."""

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(10, 32), nn.Tanh())
price, rating = nn.Linear(32, 1), nn.Linear(32, 5)
parameters = [*trunk.parameters(), *price.parameters(), *rating.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-2)

for step in range(5):
    features = trunk(torch.randn(32, 10))
    price_loss = (price(features) - 1).pow(2).mean()
    rating_loss = nn.functional.cross_entropy(rating(features), torch.randint(0, 5, (32,)))
    optimizer.zero_grad()
    (price_loss + rating_loss).backward()
    optimizer.step()
    print(f"step {step} losses {price_loss.item():.4f} and {rating_loss.item():.4f}")
