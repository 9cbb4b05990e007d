"""https://github.com/zhuangdizhu/FedGen/issues/1"""
import torch
from torch import nn

import numpy as np


class Server:
    def __init__(self, users):
        self.users = users

    def test(self, x, y):
        return [len(x) for _ in self.users], [nn.functional.mse_loss(user(x), y) for user in self.users]  # made

    def evaluate(self, x, y):
        samples, losses = self.test(x, y)
        total = sum(samples)
        return np.sum([n * loss for n, loss in zip(samples, losses)]) / np.asarray(losses[0]) / total  # raises AFT503: losses[0]


Server([nn.Linear(3, 1) for _ in range(2)]).evaluate(torch.randn(8, 3), torch.randn(8, 1))
