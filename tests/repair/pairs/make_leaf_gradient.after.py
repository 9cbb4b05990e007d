import torch, torch.nn as nn
def saliency(model, image):
    image = image.clone().requires_grad_(True)
    image = image.unsqueeze(0)
    image.retain_grad()
    score = model(image).max()
    score.backward()
    return image.grad.abs().max(dim=1)[0]
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 5))
print(saliency(model, torch.rand(3, 8, 8)).shape)
