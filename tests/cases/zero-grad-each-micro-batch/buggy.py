import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(43)


class Decoder(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 20), nn.SiLU(), nn.Linear(20, 1))

    def forward(self, z):
        return self.body(z).squeeze(-1)


class Config:
    lr = 0.05
    micro_batch = 8
    grad_accum_steps = 4
    epochs = 2


def build_data(n=128):
    z = torch.randn(n, 6)
    return DataLoader(TensorDataset(z, z[:, 0] * z[:, 1]), batch_size=Config.micro_batch)


def train(cfg):
    loader, model = build_data(), Decoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    step, window = 0, 0.0
    for epoch in range(cfg.epochs):
        for i, (z, y) in enumerate(loader):
            optimizer.zero_grad(set_to_none=True)
            loss = F.mse_loss(model(z), y) / cfg.grad_accum_steps
            loss.backward()
            window += loss.item()
            if (i + 1) % cfg.grad_accum_steps == 0:
                optimizer.step()
                step += 1
                if step % 4 == 0:
                    print(f"epoch {epoch} step {step} loss {window / 4:.4f}")
                    window = 0.0


train(Config)
