"""fx symbolic trace with own tracer, Interpreter, and torch.export with module calls, shapes and stack traces."""
import torch
from torch import fx, nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)

    def forward(self, x):
        return torch.relu(self.l(x)) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return x.sum(-1)


torch.manual_seed(0)
net = Net()
gm = fx.symbolic_trace(net)
print(gm.code)
print(gm.graph)


class T(fx.Tracer):
    record_stack_traces = True

    def is_leaf_module(self, m, q):
        return isinstance(m, Block)


g = T().trace(net)
print([(n.name, (n.stack_trace or "").count("File")) for n in g.nodes])


class Count(fx.Interpreter):
    n = 0

    def run_node(self, node):
        Count.n += 1
        return super().run_node(node)


x = torch.randn(2, 3)
print(torch.equal(Count(gm).run(x), net(x)), Count.n)
for strict in (False, True):
    ep = torch.export.export(net, (x,), dynamic_shapes={"x": {0: torch.export.Dim("b", min=2, max=64)}}, strict=strict)
    print([(n.op, str(n.target)) for n in ep.graph.nodes], ep.graph_signature.user_outputs, torch.allclose(ep.module()(x), net(x)))
    print([(n.meta.get("stack_trace") or "").strip().splitlines()[-2:] for n in ep.graph.nodes if n.op == "call_function"][:2])
try:
    fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
except Exception as e:
    print(type(e).__name__, str(e)[:60])
