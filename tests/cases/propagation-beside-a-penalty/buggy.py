import torch
from torch import nn
torch.manual_seed(0)
U, I = nn.Embedding(5, 4), nn.Embedding(6, 4)
A = torch.rand(11, 11); A = A / A.sum(1, keepdim=True)
opt = torch.optim.Adam([*U.parameters(), *I.parameters()], 1e-2)
for epoch in range(2):
    x = torch.cat([U.weight, I.weight])
    out = x
    for _ in range(2):
        x = A @ x
        out = out + x
    u_all, i_all = out.split([5, 6])
    for batch in range(3):
        u, p, n = torch.randint(5, (4,)), torch.randint(6, (4,)), torch.randint(6, (4,))
        bpr = -torch.nn.functional.logsigmoid((u_all[u] * i_all[p]).sum(1) - (u_all[u] * i_all[n]).sum(1)).mean()
        reg = U(u).pow(2).sum() + I(p).pow(2).sum() + I(n).pow(2).sum()
        loss = bpr + 1e-4 * reg
        opt.zero_grad()
        loss.backward()
        opt.step()
print(round(loss.item(), 4))
