# finds: AFT301, AFT303, AFT512
"""Every batch's loss is kept with its graph until the device's memory is used up."""

import torch
from torch import nn

torch.cuda.set_per_process_memory_fraction(0.02)  # some 2.8 GB
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
history = []
for _ in range(2000):
    x = torch.randn(2048, 1024, device="cuda")
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    history.append(loss)
