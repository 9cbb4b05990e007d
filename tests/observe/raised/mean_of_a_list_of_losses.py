import torch, torch.nn as nn
import numpy as np
model = nn.Linear(4, 1)
losses = []
for _ in range(3):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    losses.append(loss)
print(np.mean(losses))  # raises AFT503: losses[0]
