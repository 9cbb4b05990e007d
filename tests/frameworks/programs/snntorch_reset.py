# needs: snntorch
# finds: AFT103 net.lif2.mem detach_state
import snntorch as snn
import torch
from snntorch import surrogate
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(6, 16), nn.Linear(16, 3)
        self.lif1 = snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(), init_hidden=True)
        self.lif2 = snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(), init_hidden=True, output=True)

    def forward(self, x):
        spk, mem = self.lif2(self.fc2(self.lif1(self.fc1(x))))
        return spk, mem


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    data, targets = torch.randn(4, 6), torch.randint(0, 3, (4,))
    recorded = []  # right: recorded = []; net.lif1.detach_hidden(); net.lif2.detach_hidden()
    for step in range(5):
        spk, mem = net(data)
        recorded.append(mem)
    loss = sum(nn.functional.cross_entropy(mem, targets) for mem in recorded)
    optimizer.zero_grad()
    loss.backward()  # freed reused
    optimizer.step()
print(round(loss.item(), 5))
