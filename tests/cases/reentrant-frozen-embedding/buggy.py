import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, h):
        return h + self.b(torch.relu(self.a(h)))


class Tower(nn.Module):
    def __init__(self, vocab=20, d=8, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))
        self.gradient_checkpointing = False

    def forward(self, ids):
        h = self.embed(ids)
        for block in self.blocks:
            if self.gradient_checkpointing and self.training:
                h = checkpoint(block, h, use_reentrant=True)
            else:
                h = block(h)
        return h.mean(1)


def main():
    import warnings

    warnings.simplefilter("ignore")
    tower = Tower()
    tower.embed.requires_grad_(False)
    tower.gradient_checkpointing = True
    opt = torch.optim.AdamW([p for p in tower.parameters() if p.requires_grad], lr=1e-3)
    for _ in range(3):
        ids, want = torch.randint(0, 20, (4, 5)), torch.randn(4, 8)
        loss = (tower(ids) - want).pow(2).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()


if __name__ == "__main__":
    main()
