"""https://github.com/BaiTheBest/SparseLLM/issues/13"""
import torch
from torch import nn

def refine(layer, inputs, wanted, rate=0.1):
    state = wanted.clone().requires_grad_(True)  # made
    for _ in range(3):
        loss = (layer(inputs) - state).pow(2).mean()
        loss.backward()
        state -= rate * state.grad  # raises AFT501: state
        state.grad.zero_()
    return state.detach()


refine(nn.Linear(4, 4), torch.randn(8, 4), torch.randn(8, 4))
