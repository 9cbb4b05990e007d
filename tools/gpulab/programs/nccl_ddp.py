# finds: nothing
# start: torchrun --standalone --nproc-per-node 1
"""DDP over NCCL."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(10):
    optimizer.zero_grad()
    loss = model(torch.randn(16, 32, device="cuda")).pow(2).mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.6f}")
dist.destroy_process_group()
