import torch
from torch import nn


class SlotMemory(nn.Module):
    def __init__(self, count, dim, decay=0.9):
        super().__init__()
        self.register_buffer("slots", torch.zeros(count, dim))
        self.decay = decay

    def clear(self):
        self.slots.zero_()

    def write(self, index, value):
        old = self.slots[index]
        gate = torch.sigmoid((old * value).sum())
        fresh = self.slots.clone()
        fresh[index] = self.decay * (1 - gate) * old + gate * value
        self.slots = fresh

    def read(self, key):
        return torch.softmax(self.slots @ key, 0) @ self.slots
