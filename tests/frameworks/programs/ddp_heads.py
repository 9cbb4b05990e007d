# needs: torch
# finds: AFT111 heads.audio.weight use_parameters
# command: torchrun --standalone --nproc-per-node 2
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.heads = nn.ModuleDict({"text": nn.Linear(8, 3), "audio": nn.Linear(8, 5)})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


def batches(n):
    for i in range(n):
        yield torch.randn(4, 4), "text"


def train(model, optimizer):
    for x, task in batches(4):
        loss = model(x, task).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(MultiTask())  # right: model = DDP(MultiTask(), find_unused_parameters=True)
    value = train(model, torch.optim.SGD(model.parameters(), lr=0.1))
    if dist.get_rank() == 0:
        print(round(value, 5))
    dist.destroy_process_group()
