# finds: nothing
"""Forward and backward on side streams, pinned memory, events."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
copying = torch.cuda.Stream()
started, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
started.record()
for _ in range(20):
    host = torch.randn(32, 64).pin_memory()
    with torch.cuda.stream(copying):
        x = host.cuda(non_blocking=True)
    torch.cuda.current_stream().wait_stream(copying)
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
ended.record()
torch.cuda.synchronize()
print(f"{loss.item():.6f}", started.elapsed_time(ended) > 0)
