import torch

torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tasks = [torch.randn(3, 1) for _ in range(4)]
for _ in range(5):
    optimizer.zero_grad()
    for task in tasks:
        x = torch.randn(8, 3)
        loss = (model(x) - x @ task).pow(2).mean()
        loss.backward()
    optimizer.step()
