import torch
from torch.profiler import profile, record_function

torch.manual_seed(0)
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def step():
    with record_function("own"):
        loss = net(torch.rand(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


step()
with profile(with_stack=True, record_shapes=True, profile_memory=True) as p:
    for _ in range(8):
        step()
events = p.key_averages(group_by_input_shape=True)
print(sorted((e.key, e.count, str(e.input_shapes)) for e in events if not e.key.startswith(("cuda", "[mem"))))
functions = {e.name.split(": ")[-1] for e in p.events() if "main.py" in e.name}
print(sorted(functions), [e.name for e in p.events() if "afterward" in e.name.lower()][:3])
