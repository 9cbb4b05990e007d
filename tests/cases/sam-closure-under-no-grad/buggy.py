import torch
import torch.nn as nn

torch.manual_seed(2)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)

    @torch.no_grad()
    def first_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                e = p.grad * group["rho"] / (p.grad.norm() + 1e-12)
                p.add_(e)
                self.state[p]["e"] = e
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.sub_(self.state[p]["e"])
        self.base.step()
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        self.first_step()
        closure()
        self.second_step()


model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = SAM(model.parameters(), torch.optim.SGD, lr=0.05)
data = [(torch.randn(16, 4), torch.randn(16, 1)) for _ in range(3)]
for inp, out in data:

    def closure():
        loss = nn.functional.mse_loss(model(inp), out)
        loss.backward()
        return loss

    loss = nn.functional.mse_loss(model(inp), out)
    loss.backward()
    opt.step(closure)
    opt.zero_grad()
    print(loss.item())
