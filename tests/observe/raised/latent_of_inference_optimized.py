import torch
from torch import nn

encoder = nn.Linear(3, 2)


@torch.inference_mode()
def encode(x):
    return encoder(x)


latent = encode(torch.ones(1, 3))
latent.requires_grad_(True)  # raises AFT509: latent
