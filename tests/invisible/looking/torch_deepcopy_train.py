import copy
import io

import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.GRUCell(3, 4)
        self.state = torch.zeros(1, 4)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, x):
        self.state = self.body(x, self.state.detach())
        return self.head(self.state)


net = Net()
ema = copy.deepcopy(net)
optimizer = torch.optim.Adam(net.parameters())
for i in range(8):
    loss = net(torch.rand(1, 3)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p, q in zip(ema.parameters(), net.parameters()):
        p.data.lerp_(q.data, 0.1)
buffer = io.BytesIO()
net.state = net.state.detach()
torch.save({"net": net, "optimizer": optimizer.state_dict()}, buffer)
again = torch.load(io.BytesIO(buffer.getvalue()), weights_only=False)["net"]
print(again(torch.ones(1, 3)).item(), copy.deepcopy(net)(torch.ones(1, 3)).item(), sorted(vars(net)))
print(len(net._forward_hooks), len(optimizer.__dict__), sorted(optimizer.state_dict()))
print(sum(p.sum().item() for p in ema.parameters()))
