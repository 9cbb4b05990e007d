import torch, torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.aux = nn.Linear(4, 1)
        self.head = nn.Linear(4, 1)
    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.head(h)
net = Net()
def inner_step(net, x, y):
    loss = ((net(x) - y) ** 2).mean()
    grads = torch.autograd.grad(loss, net.parameters(), create_graph=True)  # raises AFT506: net.aux.weight
    return [p - 0.1 * g for p, g in zip(net.parameters(), grads)]
inner_step(net, torch.randn(3, 4), torch.randn(3, 1))
