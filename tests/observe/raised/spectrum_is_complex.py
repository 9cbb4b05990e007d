import torch, torch.nn as nn
net = nn.Linear(8, 8)
def spectrum_loss(y):
    return torch.fft.fft(y).sum()
spectrum_loss(net(torch.randn(2, 8))).backward()  # raises AFT505
