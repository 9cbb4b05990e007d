import torch, torch.nn as nn

class Deep(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = [nn.Linear(3, 3) for _ in range(depth)]  # made

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x

model = Deep(3)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)  # raises AFT504: model.layers
