"""torch.profiler with shapes, stacks, memory and schedule; autograd profiler; record_function; counts of each op of training."""
import json

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)


def step(i):
    with record_function("my step"):
        opt.zero_grad()
        loss = net(torch.randn(5, 4)).mean()
        loss.backward()
        opt.step()


for i in range(3):
    step(i)
waits = []
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2), record_shapes=True, on_trace_ready=lambda p: waits.append(p.step_num)) as prof:
    for i in range(6):
        step(i)
        prof.step()
print(waits, sorted((e.key, e.count) for e in prof.key_averages() if e.key.startswith(("aten", "my", "Optim", "autograd"))))
with torch.autograd.profiler.profile(with_stack=False) as prof:
    step(0)
print(sorted((e.key, e.count) for e in prof.key_averages()))
with profile(with_stack=True, profile_memory=True) as prof:
    step(0)
prof.export_chrome_trace("trace.json")
events = json.load(open("trace.json"))["traceEvents"]
print(sorted({e["name"] for e in events if "main.py" in str(e.get("name", ""))}))
print(sum(e.get("cat") == "cpu_op" for e in events), sum("afterward" in str(e).lower() for e in events if "main.py" not in str(e)))
