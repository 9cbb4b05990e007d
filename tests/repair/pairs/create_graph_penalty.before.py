import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(critic.parameters())


def steepness(points):
    points = points.clone().requires_grad_()
    score = critic(points)
    slope = torch.autograd.grad(
        outputs=score,
        inputs=points,
        grad_outputs=torch.ones_like(score),
        retain_graph=True,  # so that the score can be swept too
    )[0]
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()


for real in torch.randn(8, 4, 3):
    optimizer.zero_grad()
    loss = -critic(real).mean() + 10 * steepness(real)
    loss.backward()
    optimizer.step()
