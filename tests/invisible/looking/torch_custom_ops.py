"""torch.library custom ops with autograd, fake kernels and setup_context; autograd.Function with vmap, once_differentiable, marks, ctx attributes."""
import torch
from torch.autograd.function import once_differentiable

log = []


@torch.library.custom_op("unseen::scale", mutates_args=())
def scale(x: torch.Tensor, k: float) -> torch.Tensor:
    log.append("op")
    return x * k


@scale.register_fake
def _(x, k):
    return torch.empty_like(x)


def backward(ctx, g):
    log.append("op bw")
    return g * ctx.k, None


def setup(ctx, inputs, output):
    ctx.k = inputs[1]


scale.register_autograd(backward, setup_context=setup)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.note = "n"
        log.append(("fw", ctx.needs_input_grad, type(ctx).__name__))
        return x ** 3

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        log.append(("bw", ctx.note, sorted(a for a in dir(ctx) if a.startswith("note")), ctx.saved_tensors is not ctx.saved_tensors))
        return 3 * x ** 2 * g


x = torch.tensor([1.0, 2.0], requires_grad=True)
for i in range(4):
    y = Cube.apply(scale(x, 2.0)).sum()
    y.backward()
print(x.grad, log)
torch.library.opcheck(scale, (torch.ones(2, requires_grad=True), 2.0))
try:
    y.backward()
except RuntimeError as e:
    print(str(e)[:60], len(log))
g, = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
try:
    g.sum().backward()
except RuntimeError as e:
    print(str(e)[:70])
print(torch.autograd.gradcheck(lambda a: Cube.apply(a), torch.rand(2, dtype=torch.double, requires_grad=True)), len(log) > 20)
