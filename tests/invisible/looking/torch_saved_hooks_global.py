import torch

packed = []


def pack(t):
    packed.append(tuple(t.shape))
    return t.clone()


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    for _ in range(3):
        loss = net(torch.rand(2, 3)).pow(2).sum()
        loss.backward()
with torch.autograd.graph.save_on_cpu():
    net(torch.rand(2, 3)).sum().backward()
with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
    net(torch.rand(2, 3)).sum().backward()
print(packed, net[0].weight.grad.sum().item())
y = net(torch.rand(2, 3)).sum()
seen = []
with torch.autograd.graph.register_multi_grad_hook([net[0].weight, net[2].weight], lambda gs: seen.append(len(gs))):
    y.backward()
print(seen)
