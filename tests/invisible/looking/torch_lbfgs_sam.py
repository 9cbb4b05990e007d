import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
x, y = torch.rand(20, 3), torch.rand(20, 1)
calls = []
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=5)


def closure():
    calls.append(1)
    optimizer.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    return loss


for _ in range(4):
    loss = optimizer.step(closure)
print(len(calls), loss.item(), torch.is_grad_enabled(), net.weight.tolist())


class SAM(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})

    @torch.no_grad()
    def step(self, closure=None):
        old = [p.clone() for g in self.param_groups for p in g["params"]]
        for g in self.param_groups:
            for p in g["params"]:
                p.add_(p.grad, alpha=0.1)
        with torch.enable_grad():
            closure()
        for g in self.param_groups:
            for p, o in zip(g["params"], old):
                p.copy_(o - 0.1 * p.grad)


sam = SAM(net.parameters())
for _ in range(10):
    closure()
    sam.step(closure)
print(net.weight.tolist(), len(calls))
