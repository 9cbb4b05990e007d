import torch

net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
x, y = torch.randn(16, 2), torch.randn(16, 1)
opt = torch.optim.LBFGS(net.parameters(), max_iter=4)


def fit():
    pred = net(x)

    def closure():
        opt.zero_grad()
        loss = (pred - y).pow(2).mean()
        loss.backward()
        return loss

    opt.step(closure)


fit()
