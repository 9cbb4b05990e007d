import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Linear(3, 1)
for image in DataLoader(torch.ones(4, 3), batch_size=2):
    image.retain_grad()  # raises AFT507: image
    model(image).sum().backward()
