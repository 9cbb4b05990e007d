import gc

import torch


class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        dropped.append(len(dropped))


dropped, counted = [], []
gc.set_threshold(300)
weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(12):
    loss = (weight * step).exp().sum()
    gc.collect()
    Cycle()
    collected = gc.get_stats()[0]["collections"]
    loss.backward()
    optimizer.step()
    counted.append((gc.get_stats()[0]["collections"] - collected, len(dropped)))
    optimizer.zero_grad()
print(counted[1:], gc.isenabled())
