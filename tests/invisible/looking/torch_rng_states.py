import random

import torch

torch.manual_seed(7)
random.seed(7)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(net.parameters())
hidden = []
for epoch in range(3):
    for _ in range(20):
        loss = net(torch.randn(5, 4)).pow(2).mean()
        optimizer.zero_grad(set_to_none=epoch == 1)
        loss.backward()
        optimizer.step()
        hidden.append(loss)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        print(torch.rand(1).item())
    print(hash(bytes(torch.get_rng_state().tolist())), random.random(), torch.initial_seed())
print(sum(p.sum().item() for p in net.parameters()), len(hidden))
