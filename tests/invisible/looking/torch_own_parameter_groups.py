import torch

touched = []


class Groups(list):
    def __iter__(self):
        touched.append("iter")
        return super().__iter__()

    def __getitem__(self, i):
        touched.append("get")
        return super().__getitem__(i)


class Group(dict):
    def __getitem__(self, k):
        touched.append(k)
        return super().__getitem__(k)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 1)

    def __getattr__(self, name):
        touched.append(name)
        return super().__getattr__(name)

    def parameters(self, recurse=True):
        touched.append("parameters")
        return super().parameters(recurse)

    @property
    def device(self):
        touched.append("device")
        return self.fc.weight.device

    def forward(self, x):
        return self.fc(x)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
optimizer.param_groups = Groups([Group(g) for g in optimizer.param_groups])
kept = []
for i in range(30):
    loss = net(torch.rand(4, 2)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kept.append(loss)
print(len(touched), touched[:20])
