"""https://github.com/PingoLH/FCHarDNet/issues/61"""
import torch
from torch import nn

def fuse(conv, norm):
    fused = nn.Conv2d(conv.in_channels, conv.out_channels, 3, padding=1)
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    fused.weight[:, :, :, :] = conv.weight * scale.view(-1, 1, 1, 1)  # raises AFT501: fused.weight
    return fused


fuse(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6))
