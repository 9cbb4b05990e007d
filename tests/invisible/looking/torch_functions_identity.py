import inspect

import torch

for f in (
    torch.Tensor.backward,
    torch.autograd.backward,
    torch.autograd.grad,
    torch.optim.SGD.step,
    torch.nn.Module.__call__,
    torch.optim.Optimizer.zero_grad,
    torch.utils.checkpoint.checkpoint if hasattr(torch.utils, "checkpoint") else print,
):
    print(
        f.__module__,
        f.__qualname__,
        inspect.getsourcefile(f).split("site-packages")[-1] if inspect.isfunction(f) else f,
    )
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
print(
    opt.step.__func__.__qualname__,
    opt.step.__wrapped__.__qualname__ if hasattr(opt.step, "__wrapped__") else "",
    len(opt._optimizer_step_post_hooks),
)
print(len(torch.optim.optimizer._global_optimizer_post_hooks), len(torch.optim.optimizer._global_optimizer_pre_hooks))
print(len(torch.nn.modules.module._global_forward_hooks), len(torch.nn.modules.module._global_forward_pre_hooks))
