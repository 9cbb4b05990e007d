import random
from dataclasses import dataclass

import torch
from torch import nn

torch.manual_seed(91)
random.seed(91)


@dataclass
class Turn:
    state: torch.Tensor
    values: torch.Tensor
    reward: float


class Replay:
    def __init__(self, room=1000):
        self.turns, self.room = [], room

    def push(self, turn):
        self.turns.append(turn)
        del self.turns[: -self.room]

    def draw(self, count):
        return random.sample(self.turns, min(count, len(self.turns)))


net = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
replay = Replay()
for step in range(40):
    state = torch.randn(3)
    values = net(state)
    replay.push(Turn(state, values, float(state.sum() > 0)))
    turns = replay.draw(8)
    wanted = torch.tensor([turn.reward + 0.5 * turn.values.max().item() for turn in turns])
    got = net(torch.stack([turn.state for turn in turns])).max(dim=1).values
    loss = nn.functional.smooth_l1_loss(got, wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("turns", len(replay.turns), "loss", round(loss.item(), 3))
