import torch

critic = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
for step in range(4):
    real, fake = torch.randn(4, 3), torch.randn(4, 3)
    mixed = real + 0.5 * (fake - real)
    (slope,) = torch.autograd.grad(critic(mixed).pow(2).sum(), mixed, create_graph=True)
    loss = critic(fake).mean() - critic(real).mean() + (slope.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
