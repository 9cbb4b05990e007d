"""The program walks its own graph: next_functions, saved values, metadata, sequence numbers, names, topological order, register_multi_grad_hook, GradientEdge."""
import torch
from torch import nn
from torch.autograd import graph

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
numbers = []


def walk(node, seen):
    if node is None or node in seen:
        return
    seen[node] = (node.name(), node._sequence_nr() if node.name() != "torch::autograd::AccumulateGrad" else -1, sorted(a for a in dir(node) if a.startswith("_saved")), node.metadata)
    for child, index in node.next_functions:
        walk(child, seen)


for i in range(8):
    loss = net(torch.randn(2, 3)).pow(2).sum()
    seen = {}
    walk(loss.grad_fn, seen)
    numbers.append([v[1] for v in seen.values()])
    if i == 0:
        for v in seen.values():
            print(v)
    loss.backward()
base = numbers[0][0]
print([[n - base if n >= 0 else n for n in row] for row in numbers])
print(torch._C._autograd._get_sequence_nr() - base)
got = []
h = graph.register_multi_grad_hook(list(net.parameters()), lambda gs: got.append([g is not None for g in gs]))
net(torch.randn(2, 3)).sum().backward()
h.remove()
edge = graph.get_gradient_edge(net[0].weight)
print(got, edge.output_nr, edge.node.name(), torch._C._current_graph_task_id(), loss.grad_fn.metadata)
loss.grad_fn.metadata["mine"] = 1
try:
    loss.grad_fn._saved_self
    loss.grad_fn.next_functions[0][0]._saved_self
except RuntimeError as e:
    print(str(e)[:60])
out = net(torch.randn(1, 3))
node = out.grad_fn
print(node._saved_mat1 is not None, node._raw_saved_mat1.__class__.__name__, node.next_functions[1][0].name(), node._input_metadata[0].shape)
with graph.allow_mutation_on_saved_tensors():
    a = torch.ones(2, requires_grad=True)
    b = a * a
    c = b.exp()
    c.add_(1)
    c.sum().backward()
    print(a.grad)
