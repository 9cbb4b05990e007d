import torch
from callbacks import GradNorm, Stopwatch
from engine import Trainer

torch.manual_seed(4)
net = torch.nn.Sequential(torch.nn.Linear(6, 24), torch.nn.SiLU(), torch.nn.Linear(24, 2))
batches = [(torch.randn(8, 6), torch.randint(0, 2, (8,))) for _ in range(10)]
trainer = Trainer(net, torch.optim.SGD(net.parameters(), lr=0.1), [Stopwatch(), GradNorm(every=4)])
trainer.fit(batches)
print("seen", trainer.state.step)
