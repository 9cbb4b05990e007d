import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.Dropout(0.3), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters())
runs = []
net[0].register_forward_hook(lambda m, i, o: runs.append(torch.is_grad_enabled()))
for reentrant in (True, False):
    for _ in range(5):
        x = torch.rand(2, 4, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = checkpoint(net, x, use_reentrant=reentrant).float().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(runs, [p.sum().item() for p in net.parameters()])
