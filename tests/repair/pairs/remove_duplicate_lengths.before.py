import torch

scores = torch.nn.Parameter(torch.randn(3, 3))
optimizer = torch.optim.SGD([scores], lr=0.1)
for tags in ([0, 1, 2], [1, 1, 1, 2, 0], [2, 2, 2]):
    total = torch.zeros(())
    for before, after in zip(tags, tags[1:]):
        total = total + scores[before, after]
    loss = scores.exp().sum().log() - total
    optimizer.zero_grad()
    loss.backward()
    loss.backward()
    optimizer.step()
