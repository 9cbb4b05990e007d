import torch, torch.nn as nn
class GradCam:
    def __init__(self, model):
        self.model = model
        self.grads = None
        model[0].register_forward_hook(self.save)
    def save(self, module, inp, out):
        out.register_hook(self.keep)  # raises AFT507: out
    def keep(self, g):
        self.grads = g
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 36, 2))
for p in model.parameters():
    p.requires_grad = False  # made
cam = GradCam(model)
model(torch.rand(1, 1, 8, 8))
