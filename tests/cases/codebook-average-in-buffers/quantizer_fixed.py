import torch
from torch import nn


class AffineCodebook(nn.Module):
    """A learnable codebook, shifted and scaled to the statistics of what it quantizes."""

    def __init__(self, size, dim, decay=0.9):
        super().__init__()
        self.embed = nn.Parameter(torch.randn(size, dim))
        self.decay = decay
        for name, value in (("batch_mean", torch.zeros(dim)), ("batch_variance", torch.ones(dim)),
                            ("codebook_mean", torch.zeros(dim)), ("codebook_variance", torch.ones(dim))):
            self.register_buffer(name, value)
            self.register_buffer(name + "_needs_init", torch.tensor(True))

    def update_with_decay(self, name, new, decay):
        old = getattr(self, name)
        if getattr(self, name + "_needs_init"):
            updated = new.detach()
            self.register_buffer(name + "_needs_init", torch.tensor(False))
        else:
            updated = (decay * old + (1 - decay) * new).detach()
        self.register_buffer(name, updated)

    def update_affine(self, data):
        with torch.no_grad():
            self.update_with_decay("batch_mean", data.mean(0), self.decay)
            self.update_with_decay("batch_variance", data.var(0), self.decay)
        self.update_with_decay("codebook_mean", self.embed.mean(0), self.decay)
        self.update_with_decay("codebook_variance", self.embed.var(0), self.decay)

    def forward(self, z):
        self.update_affine(z.detach())
        scale = (self.batch_variance.sqrt() / self.codebook_variance.clamp(min=1e-5).sqrt())
        embed = (self.embed - self.codebook_mean) * scale + self.batch_mean
        nearest = torch.cdist(z.detach(), embed.detach()).argmin(-1)
        return embed[nearest]
