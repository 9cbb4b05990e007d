# needs: torch
# finds: AFT111 aux.weight use_parameters
# command: torchrun --standalone --nproc-per-node 2
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.aux = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)

    def forward(self, x, with_aux):
        h = torch.relu(self.body(x))
        out = self.head(h)
        if with_aux:
            out = out + self.aux(h)
        return out


dist.init_process_group("gloo")
torch.manual_seed(0)
model = DDP(Net())  # right: model = DDP(Net(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(4, 4)
    loss = model(x, dist.get_rank() == 0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
if dist.get_rank() == 0:
    print(round(loss.item(), 5))
dist.destroy_process_group()
