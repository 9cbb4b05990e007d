import torch, torch.nn as nn
model = nn.Linear(5, 3)
criterion = nn.CrossEntropyLoss(reduction="none")
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def train_one(x, y):
    opt.zero_grad()
    loss = criterion(model(x), y)  # made
    loss.backward()  # raises AFT505: loss
    opt.step()
for _ in range(3):
    train_one(torch.randn(6, 5), torch.randint(0, 3, (6,)))
