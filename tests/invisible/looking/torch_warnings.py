import warnings

import torch


class Norm(torch.nn.Module):
    def forward(self, x):
        warnings.warn("from forward", stacklevel=2)
        return x


torch.manual_seed(0)
w = torch.rand(2, requires_grad=True)
y = Norm()(w) * 2
y.grad
scheduler = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([w], lr=0.1), 1)
scheduler.step()
torch.tensor(w)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y.grad
    y.sum().backward(create_graph=True)
print([(c.filename[-8:], c.lineno, c.category.__name__) for c in caught])
