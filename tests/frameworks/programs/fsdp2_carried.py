# needs: torch
# light
# finds: AFT103 hidden detach_state
# command: torchrun --standalone --nproc-per-node 2
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix, self.out = nn.Linear(12, 8), nn.Linear(8, 1)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.mix(torch.cat([x, hidden], dim=1)))
        return self.out(hidden), hidden


dist.init_process_group("gloo")
torch.manual_seed(0)
model = fully_shard(Block(), mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
hidden = torch.zeros(4, 8)
for step in range(4):
    out, hidden = model(torch.randn(4, 4), hidden)  # built  # right: out, hidden = model(torch.randn(4, 4), hidden.detach())
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()  # freed reused
    optimizer.step()
if dist.get_rank() == 0:
    print(round(loss.item(), 5))
dist.destroy_process_group()
