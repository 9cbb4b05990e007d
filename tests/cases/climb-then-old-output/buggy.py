import torch

torch.manual_seed(7)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first(self):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                e = g["rho"] * p.grad
                p.add_(e)
                self.state[p]["e"] = e
        self.zero_grad()

    @torch.no_grad()
    def second(self):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.sub_(self.state[p]["e"])
        self.base.step()
        self.zero_grad()


net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
opt = SAM(net.parameters(), torch.optim.SGD, lr=0.1)
for _ in range(2):
    x = torch.randn(4, 3)
    out = net(x)
    loss = out.pow(2).mean()
    loss.backward()
    opt.first()
    out.pow(2).mean().backward()
    opt.second()
