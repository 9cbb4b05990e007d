import torch, torch.nn as nn

class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 1), "b": nn.Linear(4, 1)})

    def forward(self, x, task):
        return self.heads[task](torch.relu(self.body(x)))

def adapt(model, x, y, task, lr=0.1):
    loss = (model(x, task) - y).pow(2).mean()
    params = list(model.parameters())
    grads = torch.autograd.grad(loss, params)  # raises AFT506: model.heads.b.weight
    return [p - lr * g for p, g in zip(params, grads)]

adapt(TwoHeads(), torch.randn(5, 3), torch.randn(5, 1), "a")
