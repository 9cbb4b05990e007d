import torch


def interactions(users, items):
    grid = torch.rand(users, items) < 0.35
    return grid.nonzero()


def triples(pairs, items, size):
    for chunk in pairs[torch.randperm(len(pairs))].split(size):
        yield chunk[:, 0], chunk[:, 1], torch.randint(0, items, (len(chunk),))
