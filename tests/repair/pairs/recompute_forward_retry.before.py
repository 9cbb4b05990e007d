import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def careful(loss, tries=2):
    """Sweep, look at the gradient, and try again where it is too large."""
    for attempt in range(tries):
        opt.zero_grad()
        loss.backward()  # the same graph in each attempt
        if attempt or net.weight.grad.norm() < 1e-9:
            break
        net.weight.data.mul_(0.5)
    opt.step()
    return loss.item()


for x in torch.randn(4, 8, 3):
    value = careful((net(x) - x.sum(1, keepdim=True)).pow(2).mean(), tries=2)
