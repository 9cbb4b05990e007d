"""Bits of weights after training with several optimizers and schedulers, in a deterministic setting; hashes of states."""
import hashlib
import io

import torch
from torch import nn

torch.use_deterministic_algorithms(True)


def digest(obj):
    h = hashlib.sha1()
    for k, v in sorted(obj.items(), key=lambda kv: str(kv[0])):
        h.update(str(k).encode() + (v.detach().numpy().tobytes() if torch.is_tensor(v) else repr(v).encode()))
    return h.hexdigest()[:10]


for cls, kw in ((torch.optim.SGD, {"momentum": 0.9, "nesterov": True}), (torch.optim.Adam, {"amsgrad": True}), (torch.optim.RMSprop, {}), (torch.optim.Adagrad, {}), (torch.optim.LBFGS, {"max_iter": 3}), (torch.optim.Adam, {"fused": True}), (torch.optim.NAdam, {}), (torch.optim.Adam, {"foreach": True})):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3))
    opt = cls(net.parameters(), lr=0.01, **kw)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.05, total_steps=20) if cls is not torch.optim.LBFGS else torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
    for _ in range(8):
        x, y = torch.randn(4, 1, 8, 8), torch.randint(0, 3, (4,))

        def closure():
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            return loss

        if cls is torch.optim.LBFGS:
            opt.step(closure)
        else:
            closure()
            opt.step()
        sched.step()
    state = opt.state_dict()
    buffer = io.BytesIO()
    torch.save({"net": net.state_dict(), "opt": state}, buffer)
    print(cls.__name__, digest(net.state_dict()), [digest(s) for s in state["state"].values() if isinstance(s, dict)][:2], sorted(state["param_groups"][0]), hashlib.sha1(buffer.getvalue()).hexdigest()[:8], sched.get_last_lr())
