import torch
import torch.nn.functional as F


def in_batch(towers, users, items, temperature=0.2):
    score = towers.embed(users) @ towers.embed(items).T / temperature
    return F.cross_entropy(score, torch.arange(len(users)))
