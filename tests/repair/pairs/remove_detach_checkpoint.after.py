import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

embed = nn.Embedding(10, 4).requires_grad_(False)
block, head = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1).requires_grad_(False)
opt = torch.optim.SGD(block.parameters(), lr=0.1)
for x in torch.randint(0, 10, (4, 6)):
    h = checkpoint(block, embed(x), use_reentrant=False)  # saves memory
    loss = head(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
