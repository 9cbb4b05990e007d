import torch

layer = torch.nn.Linear(3, 2)
layer.requires_grad_(False)
wanted = layer(torch.ones(1, 3)).detach()
image = torch.randn(1, 3)
optimizer = torch.optim.Adam([image], lr=0.1)
for step in range(4):
    loss = (layer(image) - wanted).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
