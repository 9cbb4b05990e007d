import torch

body, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
for x in torch.randn(4, 8, 3):
    optimizer.zero_grad()
    loss = body(x).pow(2).mean()
    loss.backward()
    optimizer.step()

optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for x in torch.randn(6, 8, 3):
    optimizer.zero_grad()
    loss = (head(body(x)) - 1).pow(2).mean()
    optimizer.step()
    loss.backward()
