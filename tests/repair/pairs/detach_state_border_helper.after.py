import torch


def update(losses, opt):
    opt.zero_grad()
    torch.stack(losses).sum().backward()
    opt.step()
    losses.clear()


torch.manual_seed(0)
cell = torch.nn.RNNCell(4, 8)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden, losses = torch.zeros(1, 8), []

for t, x in enumerate(torch.randn(9, 1, 4), 1):
    hidden = cell(x, hidden)
    losses.append(hidden.pow(2).sum())
    if t % 3 == 0:  # a rollout ends here
        hidden = hidden.detach()
        update(losses, opt)
