import torch, torch.nn as nn
import multiprocessing as mp
import torch.multiprocessing
from multiprocessing.reduction import ForkingPickler
net = nn.Linear(3, 2)
q_items = []
def put(item):
    q_items.append(ForkingPickler.dumps(item))  # raises AFT503: item
def worker(x):
    feats = net(x)  # made
    put(feats)
worker(torch.randn(2, 3))
