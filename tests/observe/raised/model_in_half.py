import torch
from torch import nn
def build(half):
    net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    if half:
        net = net.half()
    return net
def train(net, batches):
    scaler = torch.amp.GradScaler("cpu")
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in batches:
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pass
        loss = net(x.half()).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)  # raises AFT515: net[0].weight
        scaler.update()
train(build(True), [torch.randn(2, 4) for _ in range(3)])
