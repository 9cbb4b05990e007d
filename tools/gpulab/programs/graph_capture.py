# finds: nothing
"""A whole training step captured once and replayed: nothing may wait for the device while it is captured."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
static_input, static_target = torch.randn(16, 32, device="cuda"), torch.randn(16, 1, device="cuda")

side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        loss = (model(static_input) - static_target).pow(2).mean()
        loss.backward()
        optimizer.step()
torch.cuda.current_stream().wait_stream(side)

graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    static_loss = (model(static_input) - static_target).pow(2).mean()
    static_loss.backward()
    optimizer.step()

for _ in range(20):
    static_input.copy_(torch.randn(16, 32, device="cuda"))
    static_target.copy_(torch.randn(16, 1, device="cuda"))
    graph.replay()
print(f"{static_loss.item():.6f}")
