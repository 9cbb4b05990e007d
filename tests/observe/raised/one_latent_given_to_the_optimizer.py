import torch


def invert(generator_size):
    latent = torch.randn(1, generator_size, requires_grad=True)
    return torch.optim.Adam(latent, lr=0.1)  # raises AFT504: latent


invert(8)
