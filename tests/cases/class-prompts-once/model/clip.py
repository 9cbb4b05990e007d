import torch.nn.functional as F
from torch import nn

from .text import TextEncoder


class ZeroShot(nn.Module):
    def __init__(self, classes, dim=12):
        super().__init__()
        self.classes = classes
        self.image = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, dim))
        self.text = TextEncoder(dim)
        self.class_vectors = F.normalize(self.text.encode(classes), dim=-1)

    def loss(self, pixels, label):
        image = F.normalize(self.image(pixels), dim=-1)
        return F.cross_entropy(image @ self.class_vectors.T / 0.1, label)
