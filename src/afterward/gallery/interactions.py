"""A generated set of user-item interactions that looks like a real one, and the measures of a recommender.

Items have a popularity that falls off as a power of their rank, users differ as much in how active they are, and
both belong to circles of taste: a user mostly takes what is popular in the own circle. A fifth of what each user took
is held back to test with.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

USERS, ITEMS, CIRCLES = 800, 1000, 8
LOYALTY = 0.75  # share of a user's picks that come from the own circle


@dataclass(frozen=True)
class Interactions:
    """Pairs of user and item, for training and held back; users and items are counted from 0."""

    train: Tensor
    held_back: Tensor
    users: int = USERS
    items: int = ITEMS

    def edges(self) -> Tensor:
        """Both directions of every training pair, in a graph whose first nodes are the users."""
        user, item = self.train[:, 0], self.train[:, 1] + self.users
        return torch.stack([torch.cat([user, item]), torch.cat([item, user])])

    def batches(self, size: int) -> list[tuple[Tensor, Tensor, Tensor]]:
        """User, item that was taken, and an item drawn at random to rank below it."""
        shuffled = self.train[torch.randperm(len(self.train))]
        others = torch.randint(0, self.items, (len(shuffled),))
        parts = (torch.split(column, size) for column in (shuffled[:, 0], shuffled[:, 1], others))
        return list(zip(*parts, strict=True))


def generate(seed: int = 0) -> Interactions:
    chance = torch.Generator().manual_seed(seed)
    popularity = torch.arange(1, ITEMS + 1).float().pow(-0.8)[torch.randperm(ITEMS, generator=chance)]
    item_circle = torch.randint(0, CIRCLES, (ITEMS,), generator=chance)
    user_circle = torch.randint(0, CIRCLES, (USERS,), generator=chance)
    activity = (7 * torch.rand(USERS, generator=chance).clamp_min(0.01).pow(-0.6)).int()
    same = user_circle[:, None] == item_circle[None, :]
    inside = (popularity * same) / (popularity * same).sum(dim=1, keepdim=True)
    taste = LOYALTY * inside + (1 - LOYALTY) * popularity / popularity.sum()
    train, held_back = [], []
    for user in range(USERS):
        taken = torch.multinomial(taste[user], int(activity[user]), generator=chance)
        kept = max(1, len(taken) // 5)
        held_back += [(user, item) for item in taken[:kept].tolist()]
        train += [(user, item) for item in taken[kept:].tolist()]
    return Interactions(torch.tensor(train), torch.tensor(held_back))


def measure(user_vectors: Tensor, item_vectors: Tensor, data: Interactions, top: int = 20) -> tuple[float, float]:
    """Recall and NDCG at `top`, over the held-back items; what a user took in training is not recommended again."""
    scores = user_vectors.detach() @ item_vectors.detach().T
    scores[data.train[:, 0], data.train[:, 1]] = -torch.inf
    wanted = torch.zeros(data.users, data.items, dtype=torch.bool)
    wanted[data.held_back[:, 0], data.held_back[:, 1]] = True
    hits = wanted.gather(1, scores.topk(top).indices).float()
    discount = 1 / torch.arange(2, top + 2).float().log2()
    ideal = discount.cumsum(0)[wanted.sum(1).clamp_max(top) - 1]
    return (hits.sum(1) / wanted.sum(1)).mean().item(), ((hits * discount).sum(1) / ideal).mean().item()


def popularity_baseline(data: Interactions) -> tuple[float, float]:
    """What recommending the most popular items to everyone would reach."""
    counts = torch.bincount(data.train[:, 1], minlength=data.items).float()
    return measure(torch.ones(data.users, 1), counts[:, None], data)
