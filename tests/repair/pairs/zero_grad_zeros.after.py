import torch

torch.manual_seed(0)
centre, context = torch.nn.Embedding(5, 3), torch.nn.Embedding(5, 3)
torch.nn.init.zeros_(context.weight)
first = torch.optim.SGD(centre.parameters(), lr=0.1)
second = torch.optim.SGD(context.parameters(), lr=0.1)
for step in range(6):
    one, other = torch.randint(0, 5, (2, 8))
    first.zero_grad()
    loss = ((centre(one) * context(other)).sum(1) - 1).pow(2).mean()
    second.zero_grad()
    loss.backward()
    first.step()
    second.step()
