import torch

model = torch.nn.Linear(3, 1)
loss = model(torch.randn(8, 3)).pow(2).mean()
params = list(model.parameters())
grads = torch.autograd.grad(loss, params)
flat = torch.cat([g.reshape(-1) for g in grads])
rows = []
for g in flat:
    row = torch.autograd.grad(g, params, retain_graph=True)
    rows.append(torch.cat([r.reshape(-1) for r in row]))
