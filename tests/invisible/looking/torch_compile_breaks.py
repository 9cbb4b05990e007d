import logging
import os

os.environ["TORCH_LOGS_FORMAT"] = "%(levelname)s %(message)s"
import torch
import torch._dynamo

torch._logging.set_logs(graph_breaks=True, recompiles=True)
logging.getLogger("torch._dynamo").setLevel(logging.WARNING)


def f(x):
    y = x * 2
    print("inside")
    z = y + 1
    if z.sum() > 0:
        z = z - 1
    return z


g = torch.compile(f, backend="eager")
w = torch.ones(3, requires_grad=True)
g(w).sum().backward()
g(w[:2]).sum().backward()
print(w.grad, dict(torch._dynamo.utils.counters["frames"]), len(torch._dynamo.utils.counters["graph_break"]))
