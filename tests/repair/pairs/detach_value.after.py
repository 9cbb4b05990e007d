import torch, torch.nn as nn
import numpy as np
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
epoch_loss = []
for x in torch.randn(4, 5, 3):
    loss = model(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    epoch_loss.append(loss.detach())
print("mean", np.mean(epoch_loss))
