import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_full_backward_hook, register_module_forward_pre_hook
log = []
h = [register_module_forward_hook(lambda m, i, o: log.append("gf " + type(m).__name__)), register_module_full_backward_hook(lambda m, a, b: log.append("gb " + type(m).__name__)), register_module_forward_pre_hook(lambda m, i: log.append("gp"))]
m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
m[0].weight.register_hook(lambda g: log.append("w"))
m[0].weight.register_post_accumulate_grad_hook(lambda p: log.append("acc"))
m[2].register_forward_hook(lambda m, a, o: o * 2)
m.register_state_dict_post_hook(lambda *a: log.append("sd")) if hasattr(m, "register_state_dict_post_hook") else None
o = torch.optim.Adam(m.parameters())
o.register_step_pre_hook(lambda *a: log.append("pre")); o.register_step_post_hook(lambda *a: log.append("post"))
o.register_state_dict_post_hook(lambda *a: log.append("osd"))
from torch.optim.optimizer import register_optimizer_step_pre_hook, register_optimizer_step_post_hook, _global_optimizer_pre_hooks, _global_optimizer_post_hooks
g = [register_optimizer_step_pre_hook(lambda *a: log.append("gpre")), register_optimizer_step_post_hook(lambda *a: log.append("gpost"))]
for i in range(9):
    o.zero_grad(); l = m(torch.ones(1, 2, requires_grad=True)).sum()
    l.grad_fn.register_hook(lambda *a: log.append("node")); l.grad_fn.register_prehook(lambda *a: log.append("prenode"))
    l.backward(); o.step(); log.append("|")
print(len(log), log)
print(o.step.__name__, o.step.__wrapped__.__name__ if hasattr(o.step, "__wrapped__") else None, type(o).step.hooked, o._optimizer_step_post_hooks.keys())
print(m[0]._backward_hooks, m._forward_hooks, [k.id for k in g], torch.utils.hooks.RemovableHandle.next_id)
