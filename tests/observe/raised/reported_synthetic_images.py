"""https://github.com/pytorch/pytorch/issues/140469"""
import torch
from torch import nn

classes, per_class = 3, 2
image_syn = torch.randn(classes * per_class, 1, 8, 8, requires_grad=True) * 0.01  # made
label_syn = torch.arange(classes).repeat_interleave(per_class)
optimizer_img = torch.optim.SGD([image_syn], lr=0.1, momentum=0.5)  # raises AFT502: image_syn
