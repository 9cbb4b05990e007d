"""torch.jit.script and trace of functions and modules; their code and graphs; errors with the program's own lines."""
import torch
from torch import nn


@torch.jit.script
def loop(x: torch.Tensor, n: int) -> torch.Tensor:
    for i in range(n):
        if bool(x.sum() > 10):
            x = x - 1
        else:
            x = x * 2
    return x


print(loop.code)
print(loop(torch.ones(3), 5))


class M(nn.Module):
    scale: int

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.scale = 3
        with torch.no_grad():
            self.lin.weight.fill_(0.5), self.lin.bias.zero_()

    def forward(self, x):
        return self.helper(self.lin(x))

    @torch.jit.export
    def helper(self, y: torch.Tensor):
        return y * self.scale


m = torch.jit.script(M())
print(m.code, m.helper.code, m.graph.findNode("prim::CallMethod") is not None)
out = m(torch.ones(1, 2)).sum()
out.backward()
print(m.lin.weight.grad)
t = torch.jit.trace(M(), torch.ones(1, 2))
print(t.code)


def bad(x):
    y = x + 1
    return y.no_such_thing_at_all(z)


try:
    torch.jit.script(bad)
except Exception as e:
    print(type(e).__name__, [l.strip() for l in str(e).splitlines() if "bad" in l or "no_such" in l or "z" in l][:5])
print(torch.jit.script(lambda_free := nn.ReLU())(torch.tensor([-1.0])))
