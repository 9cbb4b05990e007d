"""The losses are added, with one `backward()`: the same gradients as two passes with `retain_graph=True`, shown."""

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
    price_loss.backward(retain_graph=True)
    rating_loss.backward(retain_graph=True)
    twice = [parameter.grad.clone() for parameter in parameters]

    optimizer.zero_grad()
    (price_loss + rating_loss).backward()
    apart = max((one - parameter.grad).abs().max().item() for one, parameter in zip(twice, parameters, strict=True))
    optimizer.step()
    print(f"step {step}: the gradients of two passes and of one differ by at most {apart:.0e}")
