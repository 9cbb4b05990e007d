import torch
device = torch.device("cpu")
def make_latent(n):
    z = torch.randn(n, 16, requires_grad=True).double()  # made
    return z
z = make_latent(4)
optimizer = torch.optim.Adam([z], lr=0.01)  # raises AFT502: z
for i in range(10):
    loss = (z ** 2).sum()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
