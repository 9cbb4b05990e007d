import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(61)


class MultiProjection(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(width, width), nn.LeakyReLU())

    def forward(self, features, noised):
        return self.layer(features), self.layer(noised)


def train(accumulation_steps=2, epochs=2):
    encoder = nn.Sequential(nn.Linear(6, 10), nn.ReLU()).eval()
    bn, decoder, proj = nn.Linear(10, 4), nn.Linear(4, 10), MultiProjection(10)
    for p in encoder.parameters():
        p.requires_grad_(False)
    optimizer_proj = torch.optim.Adam(proj.parameters(), lr=1e-3)
    optimizer_distill = torch.optim.Adam([*decoder.parameters(), *bn.parameters()], lr=5e-3)
    data = [torch.randn(8, 6) for _ in range(6)]
    for epoch in range(epochs):
        running = []
        for i, img in enumerate(data):
            inputs, noised = encoder(img), encoder(img + 0.2 * torch.randn_like(img))
            kept, cleaned = proj(inputs, noised)
            loss_proj = F.mse_loss(kept, inputs) + F.mse_loss(cleaned, inputs)
            loss_distill = 1 - F.cosine_similarity(inputs, decoder(bn(cleaned))).mean()
            loss = loss_distill + 0.2 * loss_proj
            loss.backward()
            if (i + 1) % accumulation_steps == 0:
                optimizer_proj.step()
                optimizer_distill.step()
                optimizer_proj.zero_grad()
                optimizer_distill.zero_grad()
            running.append(loss.item())
        print(epoch, f"{sum(running) / len(running):.6f}")


train()
