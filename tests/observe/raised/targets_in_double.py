import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.ones(8, 3), torch.zeros(8, 1, dtype=torch.float64))
model = nn.Linear(3, 1)


def train_epoch(loader):
    for x, y in loader:
        loss = F.huber_loss(model(x), y)
        loss.backward()  # raises AFT505: loss


train_epoch(DataLoader(data, batch_size=4))
