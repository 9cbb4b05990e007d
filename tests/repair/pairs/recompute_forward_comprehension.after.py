import torch

torch.manual_seed(0)
agents = [torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)) for _ in range(2)]
heads = [torch.nn.Linear(4, 1) for _ in range(2)]
optimizers = [torch.optim.SGD([*a.parameters(), *h.parameters()], lr=0.1) for a, h in zip(agents, heads)]
for _ in range(3):
    x = torch.randn(5, 3)
    for i in range(2):
        said = torch.cat([a(x) for a in agents], 1)
        loss = heads[i](said).pow(2).mean()
        optimizers[i].zero_grad()
        loss.backward()
        optimizers[i].step()
