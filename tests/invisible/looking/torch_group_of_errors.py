import torch

w = torch.rand(3, requires_grad=True)
errors = []
for i in range(3):
    try:
        y = w.exp().sum()
        y.backward()
        y.backward()
    except RuntimeError as e:
        errors.append(e)
raise ExceptionGroup("all failed", errors)
