import torch, torch.nn as nn, copy
class Memory:
    def __init__(self):
        self.values = []
    def add(self, v):
        self.values.append(v)
net, mem = nn.Linear(4, 2), Memory()
for _ in range(3):
    mem.add(net(torch.randn(1, 4)))
snapshot = copy.deepcopy(mem)  # raises AFT503: mem.values[0]
