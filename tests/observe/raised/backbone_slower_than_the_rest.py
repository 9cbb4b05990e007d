import torch, torch.nn as nn

class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = nn.Linear(3, 4), nn.Linear(4, 2)

def build_optimizer(model):
    slow = [p for n, p in model.named_parameters() if "backbone" in n]
    rest = [p for n, p in model.named_parameters() if "bias" in n or "head" in n]
    return torch.optim.AdamW([{"params": slow, "lr": 1e-5}, {"params": rest}], lr=1e-3)  # raises AFT515: model.backbone.bias

build_optimizer(Detector())
