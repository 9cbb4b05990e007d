# finds: AFT103
# start: torchrun --standalone --nproc-per-node 1
"""DDP over NCCL, a state carried over: the failing rank must end the job, not hang it."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(16, 32), nn.Linear(32, 1)

    def forward(self, x, hidden):
        hidden = self.cell(x, hidden)
        return self.head(hidden), hidden


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
torch.manual_seed(0)
model = DistributedDataParallel(Model().cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
hidden = torch.zeros(8, 32, device="cuda")
for _ in range(5):
    prediction, hidden = model(torch.randn(8, 16, device="cuda"), hidden)
    loss = prediction.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
