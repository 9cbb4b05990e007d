"""Optimizer state objects, profile hooks, wrapped step functions, schedulers' wrappers, __class__ patches, defaults and copies."""
import copy
import inspect
import pickle

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 2)
opt = torch.optim.Adam(net.parameters(), 0.01)
print(torch.optim.Adam.step.__qualname__, getattr(torch.optim.Adam.step, "hooked", None), torch.optim.Adam.step.__module__, inspect.signature(torch.optim.Adam.step))
sched = torch.optim.lr_scheduler.StepLR(opt, 2)
print(opt.step.__func__.__qualname__, hasattr(opt.step, "_wrapped_by_lr_sched"), sorted(opt.__dict__))
for i in range(5):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
    sched.step()
print(opt.state[net.weight].keys(), sched.last_epoch, sched._step_count, opt._opt_called)
twin = copy.deepcopy(opt)
print(type(twin).__name__, len(twin.state), pickle.loads(pickle.dumps(opt.state_dict()))["param_groups"][0]["lr"])
print(opt)
print(inspect.getsource(torch.optim.SGD.zero_grad if False else torch.Tensor.backward)[:60], torch.Tensor.backward.__code__.co_filename.rsplit("/", 1)[-1])
print(torch.autograd.backward.__module__, inspect.signature(torch.autograd.grad), torch.autograd.grad.__code__.co_name)
print(inspect.getfile(torch.autograd.graph._engine_run_backward).rsplit("/", 1)[-1], torch.autograd._engine_run_backward is torch.autograd.graph._engine_run_backward, torch.autograd.graph._engine_run_backward.__qualname__)
ema = torch.optim.swa_utils.AveragedModel(net)
ema.update_parameters(net)
print(ema.n_averaged, [n for n, _ in ema.named_parameters()])
class Wrapped:
    def __init__(self, o):
        self.__dict__["o"] = o
    def __getattr__(self, n):
        return getattr(self.o, n)
w = Wrapped(opt)
net(torch.ones(1, 2)).sum().backward()
w.step(), w.zero_grad()
print(net.weight.grad, w.param_groups is opt.param_groups)
