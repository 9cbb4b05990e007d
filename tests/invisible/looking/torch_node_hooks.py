import torch

torch.manual_seed(0)
w = torch.rand(3, requires_grad=True)
order = []
for i in range(4):
    y = w.exp()
    z = (y * y).sum()
    z.grad_fn.register_hook(lambda gi, go: order.append("sum"))
    y.register_hook(lambda g: order.append("y"))
    z.grad_fn.register_prehook(lambda go: order.append("pre"))
    z.backward(retain_graph=i == 0)
print(order, w.grad.tolist())
print(
    z.grad_fn.name(),
    z.grad_fn.next_functions[0][0].name(),
    z.grad_fn.metadata,
    z._version,
    w._version,
    w._backward_hooks,
)
print(
    sorted(k for k in dir(torch.autograd.backward) if "wrap" in k),
    torch.Tensor.backward.__module__,
    torch.Tensor.backward.__qualname__,
)
