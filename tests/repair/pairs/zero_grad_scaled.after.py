import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
amp = torch.amp.GradScaler("cpu", init_scale=4.0)
for i, x in enumerate(torch.randn(16, 8, 4)):
    loss = (net(x) - 1).pow(2).mean() / 4
    amp.scale(loss).backward()
    if (i + 1) % 4 == 0:
        amp.step(optimizer)
        optimizer.zero_grad()
        amp.update()
