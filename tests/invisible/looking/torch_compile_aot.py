"""torch.compile with aot_eager: counters, guards, graph breaks, recompiles, explain."""
import torch
import torch._dynamo as dynamo
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x, flag=True):
        h = torch.tanh(self.a(x))
        if flag:
            h = h * 2
        for _ in range(3):
            h = h + 1
        return self.b(h)


net = Net()
step = torch.compile(net, backend="aot_eager")
opt = torch.optim.SGD(net.parameters(), 0.1)
losses = []
for i in range(6):
    opt.zero_grad()
    loss = step(torch.randn(3, 4), flag=i % 2 == 0).pow(2).sum()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses)
print(dict(dynamo.utils.counters["stats"]), dict(dynamo.utils.counters["graph_break"]), dict(dynamo.utils.counters["frames"]))
seen = []


def backend(gm, inputs):
    seen.append([(n.op, str(n.target)) for n in gm.graph.nodes])
    seen.append([(n.stack_trace or "").strip().splitlines()[-2:] for n in gm.graph.nodes if n.op == "call_function"][:3])
    return gm.forward


@torch.compile(backend=backend)
def f(x):
    y = x.sin()
    print("break")
    return y.cos() + x


print(f(torch.ones(2, requires_grad=True)).sum().item())
print(len(seen), seen)
explained = dynamo.explain(net.forward)(torch.randn(2, 4))
print(explained.graph_count, explained.graph_break_count, explained.op_count)
dynamo.reset()
with torch.no_grad():
    print(torch.compile(lambda x: x.add(1).relu(), backend="eager", fullgraph=True)(torch.tensor([-3.0, 3.0])))
