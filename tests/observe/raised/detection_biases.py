import math
import torch, torch.nn as nn
class Detect(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.ModuleList(nn.Conv2d(8, 3 * 7, 1) for _ in range(2))
        self.stride = [8, 16]
        self._initialize_biases()
    def _initialize_biases(self):
        for mi, s in zip(self.m, self.stride):
            b = mi.bias.view(3, -1)  # made
            b[:, 4] += math.log(8 / (640 / s) ** 2)  # raises AFT501: b
            mi.bias = nn.Parameter(b.view(-1), requires_grad=True)
Detect()
