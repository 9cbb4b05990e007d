import torch
import torch._dynamo

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
graphs = []


def backend(gm, inputs):
    graphs.append(gm.code)
    return gm.forward


def forward(x):
    y = net(x)
    if y.shape[0] > 2:
        y = y * 2
    return (y**2).mean()


compiled = torch.compile(forward, backend=backend)
for i in range(6):
    optimizer.zero_grad()
    loss = compiled(torch.randn(4, 3))
    loss.backward()
    optimizer.step()
    print(loss.item())
print(len(graphs), graphs[0])
print(torch._dynamo.utils.counters["stats"], dict(torch._dynamo.utils.counters["graph_break"]))
explained = torch._dynamo.explain(forward)(torch.randn(4, 3))
print(explained.graph_count, explained.graph_break_count, len(explained.ops_per_graph[0]))
