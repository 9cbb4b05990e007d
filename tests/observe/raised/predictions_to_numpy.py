import torch, torch.nn as nn
import numpy as np
def evaluate(model, batches):
    preds = []
    for x in batches:
        out = model(x)  # made
        preds.append(out.numpy())  # raises AFT503: out
    return np.concatenate(preds)
model = nn.Linear(3, 1)
print(evaluate(model, [torch.randn(4, 3) for _ in range(2)]).shape)
