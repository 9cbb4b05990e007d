import torch
from torch.func import vmap, grad
w = torch.randn(3)
def loss_fn(w, x, y):
    p = torch.dot(w, x)  # made
    if p.item() > 0:  # raises AFT514: p
        return (p - y) ** 2
    return p * 0
g = vmap(grad(loss_fn), in_dims=(None, 0, 0))(w, torch.randn(4, 3), torch.randn(4))
print(g.shape)
