import torch
from functools import partial
from torch import nn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, CheckpointPolicy

def save_matmuls(ctx, op, *args, **kwargs):
    if op in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
    def forward(self, x):
        ctx = partial(create_selective_checkpoint_contexts, save_matmuls)
        return x + checkpoint(self.f, x, use_reentrant=False, context_fn=ctx)

net = nn.Sequential(Block(6), Block(6))
heads = nn.ModuleList([nn.Linear(6, 1), nn.Linear(6, 1)])
opt = torch.optim.Adam([*net.parameters(), *heads.parameters()])
for step in range(3):
    feats = net(torch.randn(4, 6))
    losses = [h(feats).pow(2).mean() for h in heads]
    opt.zero_grad()
    for loss in losses:
        # first head, then second head
        loss.backward(retain_graph=True)  # raises AFT511: loss
    opt.step()
