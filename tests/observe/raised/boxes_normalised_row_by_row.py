import torch, torch.nn as nn
proj = nn.Linear(3, 3)
def normalise(boxes):
    for box in boxes:  # made
        box /= box.sum() + 1e-6  # raises AFT508: box
    return boxes
out = normalise(torch.sigmoid(proj(torch.randn(5, 3))))
out.sum().backward()
