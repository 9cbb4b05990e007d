import torch
from potential_fixed import Potential
from train import Trainer

torch.manual_seed(71)


def dataset(n, atoms=5):
    out = []
    for _ in range(n):
        pos = torch.randn(atoms, 3) * 1.5
        out.append({"positions": pos, "species": torch.randint(0, 3, (atoms,)), "energy": torch.randn(1),
                    "forces": torch.randn(atoms, 3) * 0.1, "stress": torch.randn(3, 3) * 0.01})
    return out


trainer = Trainer(Potential(), {"energy": 1.0, "forces": 10.0, "stress": 0.1})
for epoch in range(3):
    print(epoch, {k: round(v, 5) for k, v in trainer.epoch(dataset(3)).items()})
