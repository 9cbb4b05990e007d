import torch, collections
calls = collections.Counter()
class Opt(torch.optim.Optimizer):
    def __init__(self, ps, lr): super().__init__(ps, dict(lr=lr))
    @torch.no_grad()
    def step(self, closure=None):
        calls["step"] += 1
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None: p.add_(p.grad, alpha=-g["lr"]); self.state[p]["n"] = self.state[p].get("n", 0) + 1
    def zero_grad(self, set_to_none=True): calls["zero"] += 1; super().zero_grad(set_to_none)
    def __getattribute__(self, n):
        if n in ("param_groups", "state", "defaults"): calls[n] += 1
        return super().__getattribute__(n)
    def __hash__(self): calls["hash"] += 1; return 1
    def __eq__(self, o): calls["eq"] += 1; return self is o
torch.manual_seed(0)
class M(torch.nn.Module):
    def __init__(self): super().__init__(); self.w = torch.nn.Parameter(torch.ones(3))
    def parameters(self, recurse=True): calls["parameters"] += 1; return super().parameters(recurse)
    def named_parameters(self, *a, **k): calls["named"] += 1; return super().named_parameters(*a, **k)
    def __getattr__(self, n): calls["ga"] += 1; return super().__getattr__(n)
    def forward(self, x): return (self.w * x).sum()
m = M(); o = Opt(m.parameters(), .1)
sch = torch.optim.lr_scheduler.StepLR(o, 5)
for i in range(40):
    o.zero_grad(); m(torch.rand(3)).backward(); o.step(); sch.step()
print(m.w, sorted(calls.items()), sch.get_last_lr(), o.step.__func__.__name__ if hasattr(o.step, "__func__") else "-", sch.state_dict())
import copy; o2 = copy.deepcopy(o); print(type(o2).__name__, len(o2.param_groups))
