"""Where no saved value is written over, the advice runs, and every step keeps the graphs of all steps before it."""

import torch
from torch import nn


def saved_bytes(loss: torch.Tensor) -> int:
    """What the graph of a loss has saved for its backward pass; a value saved twice counts once."""
    sizes: dict[int, int] = {}
    seen, found = set(), [loss.grad_fn]
    while found:
        node = found.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        saved = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
        sizes.update({value.data_ptr(): value.nbytes for value in saved if isinstance(value, torch.Tensor)})
        found += [below for below, _ in node.next_functions]
    return sum(sizes.values())


torch.manual_seed(0)
gain = nn.Parameter(torch.ones(64))
smoothed = torch.zeros(128, 64)

for step in range(12):
    smoothed = 0.9 * smoothed + 0.1 * torch.randn(128, 64) * gain
    loss = (smoothed - 1).pow(2).mean()
    loss.backward(retain_graph=True)
    gain.grad = None
    print(f"step {step:2} loss {loss.item():.4f}, {saved_bytes(loss) / 1024:6.0f} KiB saved")
