import torch
def attack(model, image):
    x = image.clone().requires_grad_(True).double()
    loss = model(x).sum()
    loss.backward()
    return x.grad.sign()  # raises AFT502: x
model = torch.nn.Linear(4, 2).double()
attack(model, torch.rand(1, 4))
