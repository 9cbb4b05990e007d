import torch, torch.nn as nn
def prune(model, amount):
    for name, p in model.named_parameters():  # made
        if "weight" in name:
            mask = p.abs() > amount
            p *= mask  # raises AFT501: p
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(5, 8)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    prune(model, 0.01)
