"""https://github.com/2U1/Qwen-VL-Series-Finetune/pull/178"""
import torch, torch.nn as nn
class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision = nn.Linear(6, 4)
        self.head = nn.Linear(4, 2)
    def forward(self, embeds, rows, pixels):
        flat = embeds.view(-1, 4)
        flat.index_copy_(0, rows, self.vision(pixels))  # raises AFT501: flat
        return self.head(flat)
embeds = torch.zeros(2, 3, 4).requires_grad_()  # as gradient checkpointing asks for
Mixed()(embeds, torch.tensor([1, 4]), torch.randn(2, 6)).sum().backward()
