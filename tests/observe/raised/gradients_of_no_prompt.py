import torch
from torch import nn

model = nn.Linear(3, 1)
for p in model.parameters():
    p.requires_grad = False


def prompt_gradients(loss):
    prompts = [p for p in model.parameters() if p.requires_grad]
    return torch.autograd.grad(loss, prompts)  # raises AFT504


x = torch.ones(4, 3, requires_grad=True)
prompt_gradients(model(x).mean())
