"""`detach()` on an input that has no graph does nothing: the gradients are the same bits."""

import torch
from torch import nn

torch.manual_seed(0)
first = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
second = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
inputs = torch.randn(16, 5)
print(f"the input has a history: {inputs.grad_fn is not None}")


def gradients(second_input: torch.Tensor) -> list[torch.Tensor]:
    first.zero_grad()
    second.zero_grad()
    (first(inputs) - 1).pow(2).mean().backward()
    (second(second_input) + 1).pow(2).mean().backward()
    return [parameter.grad.clone() for parameter in (*first.parameters(), *second.parameters())]


plain, detached = gradients(inputs), gradients(inputs.detach())
same = all(torch.equal(one, other) for one, other in zip(plain, detached, strict=True))
print(f"same gradients with and without detach: {same}")
