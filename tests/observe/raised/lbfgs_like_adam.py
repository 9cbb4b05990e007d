import argparse
import torch
from torch import nn

def make_optimizer(name, parameters):
    return torch.optim.LBFGS(parameters, lr=0.5) if name == "lbfgs" else torch.optim.Adam(parameters)

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--optimizer", default="lbfgs")
    args = parser.parse_args([])
    model = nn.Linear(2, 1)
    optimizer = make_optimizer(args.optimizer, model.parameters())
    x = torch.randn(16, 2)
    for epoch in range(3):
        optimizer.zero_grad()
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        loss.backward()
        optimizer.step()  # raises AFT515: optimizer
main()
