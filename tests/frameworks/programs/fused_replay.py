# needs: torch
# light
# unproven
# finds: AFT203 net[2].weight move_step
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, fused=True)
for epoch in range(4):
    states = torch.randn(12, 4)
    values = net(states)  # right: pass
    for start in range(0, 12, 4):
        batch = values[start : start + 4]  # right: batch = net(states)[start : start + 4]
        loss = (batch - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)  # freed  # right: loss.backward()
        optimizer.step()  # written
print(round(loss.item(), 5))
