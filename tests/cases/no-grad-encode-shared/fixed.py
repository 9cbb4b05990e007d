import torch
from retrieval.encoder_fixed import TwoTower
from retrieval.losses import in_batch

torch.manual_seed(67)
towers = TwoTower(items=40, dim=10)
opt = torch.optim.Adagrad(towers.parameters(), lr=0.05)
for step in range(3):
    users, items = torch.randint(0, 40, (2, 12, 4))
    loss = in_batch(towers, users, items)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, round(loss.item(), 4))
print("nearest", towers.nearest(torch.tensor([[1, 2, 3, 4]])).tolist())
