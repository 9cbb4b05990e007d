import torch
from world import Arena

torch.manual_seed(61)
arena = Arena(names=("red", "green", "blue"))
opts = {n: torch.optim.Adam(a.parameters(), lr=3e-3) for n, a in arena.agents.items()}
for episode in range(4):
    returns = arena.play(length=5)
    for o in opts.values():
        o.zero_grad()
    total = torch.stack(list(returns.values())).sum()
    (-total).backward()
    for o in opts.values():
        o.step()
    print(episode, {n: round(r.item(), 3) for n, r in returns.items()})
