import torch
from multihead import MultiHead, head_losses, sweep

torch.manual_seed(55)
model = MultiHead({"age": 1, "height": 1, "group": 5})
optimizers = [torch.optim.SGD(model.parameters(), lr=0.02)]


def targets(n):
    return {"age": torch.rand(n, 1), "height": torch.rand(n, 1), "group": torch.randint(0, 5, (n,))}


for round_ in range(3):
    for o in optimizers:
        o.zero_grad()
    x = torch.randn(9, 7)
    losses = dict(head_losses(model, x, targets(9)))
    sweep(sum(losses.values()))
    report = {name: loss.item() for name, loss in losses.items()}
    for o in optimizers:
        o.step()
    print(round_, {k: round(v, 3) for k, v in report.items()})
