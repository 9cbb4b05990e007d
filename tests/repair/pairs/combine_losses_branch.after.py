import torch
from torch import nn
torch.manual_seed(0)
shared, h1, h2 = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
opt = torch.optim.SGD([*shared.parameters(), *h1.parameters(), *h2.parameters()], lr=0.1)
for step, x in enumerate(torch.randn(4, 16, 4)):
    z = torch.relu(shared(x))
    main, aux = h1(z).pow(2).mean(), h2(z).abs().mean()
    opt.zero_grad()
    total_loss = 0
    if step % 2 == 0:
        total_loss = total_loss + aux  # every second step
    (total_loss + main).backward()
    opt.step()
