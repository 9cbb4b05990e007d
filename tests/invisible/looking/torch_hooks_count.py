"""Every hook a module, tensor, node or optimizer takes, counted; handles removed; order of calls."""
import torch
from torch import nn

torch.manual_seed(0)
log = []
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
for name, m in net.named_children():
    m.register_forward_pre_hook(lambda m, a, name=name: log.append(("pre", name)))
    m.register_forward_hook(lambda m, a, o, name=name: log.append(("fwd", name)))
    m.register_full_backward_hook(lambda m, gi, go, name=name: log.append(("bwd", name, len(gi))))
    m.register_full_backward_pre_hook(lambda m, go, name=name: log.append(("bpre", name)))
for name, p in net.named_parameters():
    p.register_hook(lambda g, name=name: log.append(("grad", name)))
    p.register_post_accumulate_grad_hook(lambda p, name=name: log.append(("acc", name, p.grad is not None)))
opt = torch.optim.SGD(net.parameters(), 0.1)
opt.register_step_pre_hook(lambda *a: log.append("step pre"))
opt.register_step_post_hook(lambda *a: log.append("step post"))
h = torch.nn.modules.module.register_module_forward_hook(lambda m, i, o: log.append(("global", type(m).__name__)))
for step in range(3):
    opt.zero_grad()
    loss = net(torch.randn(5, 3)).pow(2).mean()
    loss.grad_fn.register_hook(lambda gi, go: log.append("node"))
    loss.grad_fn.register_prehook(lambda go: log.append("nodepre"))
    loss.backward()
    opt.step()
h.remove()
print(len(log), log[:40])
print(len(torch.optim.optimizer._global_optimizer_post_hooks), len(torch.optim.optimizer._global_optimizer_pre_hooks), len(torch.nn.modules.module._global_forward_hooks), opt._optimizer_step_post_hooks.keys())
print([len(m._forward_hooks) for m in net], [type(m).forward.__qualname__ for m in net], net[0].__dict__.keys())
