"""Random states of torch, numpy and random, generators, fork_rng, dropout masks, shuffles, at many moments of training."""
import hashlib
import random

import numpy as np
import torch
from torch import nn

torch.manual_seed(1), np.random.seed(2), random.seed(3)


def fingerprint():
    return hashlib.md5(torch.get_rng_state().numpy().tobytes() + np.random.get_state()[1].tobytes() + repr(random.getstate()).encode()).hexdigest()[:8]


net = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.4), nn.Linear(8, 2))
opt = torch.optim.AdamW(net.parameters())
seen = [fingerprint()]
gen = torch.Generator().manual_seed(5)
data = torch.utils.data.TensorDataset(torch.randn(40, 6), torch.randint(0, 2, (40,)))
loader = torch.utils.data.DataLoader(data, 8, shuffle=True, generator=gen)
for epoch in range(4):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        seen.append(fingerprint())
    with torch.random.fork_rng():
        torch.rand(3)
    random.random(), np.random.rand()
print(seen)
try:
    loss.backward()
except RuntimeError:
    seen.append(fingerprint())
print(seen[-1], torch.initial_seed(), gen.initial_seed(), torch.rand(2), hashlib.md5(gen.get_state().numpy().tobytes()).hexdigest())
print(sum(p.double().sum() for p in net.parameters()).item().hex())
