import torch

torch.manual_seed(5)


def basis(x, knots):
    return torch.exp(-0.5 * ((x[:, None] - knots[None]) / 0.15) ** 2)


class Spline(torch.nn.Module):
    def __init__(self, knots=12):
        super().__init__()
        self.register_buffer("knots", torch.linspace(0, 1, knots))
        self.coef = torch.nn.Parameter(torch.randn(knots) * 0.1)

    def forward(self, x):
        return basis(x, self.knots) @ self.coef

    def roughness(self):
        return torch.diff(self.coef, n=2).square().sum()


def make_closure(model, opt, x, y, lam):
    def closure():
        opt.zero_grad()
        data = (model(x) - y).square().sum()
        total = data + lam * model.roughness()
        total.backward()
        return total

    return closure


x = torch.rand(60)
y = torch.sin(6 * x) + 0.1 * torch.randn(60)
model = Spline()
opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=8, line_search_fn="strong_wolfe")
for outer in range(3):
    value = opt.step(make_closure(model, opt, x, y, lam=0.1))
    print(outer, round(float(value), 4))
