# needs: torch
# finds: AFT110 blocks.2.0.bias no_reentrant
# command: torchrun --standalone --nproc-per-node 2
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint


class Encoder(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.GELU()) for _ in range(depth))
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=True)  # right: h = checkpoint(block, h, use_reentrant=False)
        return self.head(h)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DDP(Encoder(), find_unused_parameters=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(4):
        out = model(torch.randn(4, 4))
        loss = nn.functional.cross_entropy(out, torch.randint(0, 2, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(round(loss.item(), 5))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
