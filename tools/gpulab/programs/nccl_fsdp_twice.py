# finds: AFT101
# start: torchrun --standalone --nproc-per-node 1
"""FSDP2 over NCCL, backward called twice on one loss."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(16, 32, device="cuda")).pow(2).mean()
    loss.backward()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
