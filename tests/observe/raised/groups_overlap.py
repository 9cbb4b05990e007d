import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)
    def forward(self, x):
        return self.head(self.encoder(x))

def param_groups(net, lr):
    backbone = [p for n, p in net.named_parameters() if "encoder" in n or "weight" in n]
    head = list(net.head.parameters())
    return [{"params": backbone, "lr": lr * 0.1}, {"params": head, "lr": lr}]

def main():
    loader = DataLoader(TensorDataset(torch.randn(32, 6), torch.randint(0, 2, (32,))), batch_size=8)
    net = Net()
    groups = param_groups(net, 1e-2)
    opt = torch.optim.AdamW(groups)  # raises AFT515: net.head.weight
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
main()
