import torch
from torch import nn

torch.manual_seed(7)
CFG = {"mode": "joint", "weights": {"a": 1.0, "b": 0.5}}
net = nn.ModuleDict({"trunk": nn.Linear(4, 8), "a": nn.Linear(8, 1), "b": nn.Linear(8, 2)})
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def heads(x):
    h = torch.relu(net["trunk"](x))
    return {"a": net["a"](h).mean(), "b": net["b"](h).pow(2).mean()}


def sweep(parts, how):
    match how:
        case "joint":
            sum(CFG["weights"][k] * v for k, v in parts.items()).backward()
        case "each":
            for k, v in parts.items():
                (CFG["weights"][k] * v).backward()
        case _:
            raise ValueError(how)


for mode in ("joint", "each"):
    opt.zero_grad()
    sweep(heads(torch.randn(3, 4)), mode)
    opt.step()
