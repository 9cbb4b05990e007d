import torch
from torch import nn

torch.manual_seed(21)


class RecurrentPolicy(nn.Module):
    def __init__(self, obs=3, hidden=10, act=2):
        super().__init__()
        self.core, self.out = nn.LSTMCell(obs, hidden), nn.Linear(hidden, act)
        self._state = (torch.zeros(1, hidden), torch.zeros(1, hidden))

    @property
    def state(self):
        h, c = self._state
        return h.detach(), c.detach()

    @state.setter
    def state(self, value):
        self._state = value

    def unroll(self, observations):
        state, actions = self.state, []
        for o in observations:
            state = self.core(o[None], state)
            actions.append(self.out(state[0]))
        self.state = state
        return torch.cat(actions)


class Imitation:
    def __init__(self, policy):
        self.policy = policy
        self.opt = torch.optim.Adam(policy.parameters(), lr=4e-3)

    def expert(self, obs):
        return torch.stack([obs.sum(-1), obs[:, 0] - obs[:, 2]], -1)

    def learn(self, segments):
        try:
            for obs in segments:
                loss = nn.functional.huber_loss(self.policy.unroll(obs), self.expert(obs))
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                yield loss.item()
        finally:
            self.opt.zero_grad()


trajectory = torch.randn(32, 3).cumsum(0) * 0.2
print([round(v, 4) for v in Imitation(RecurrentPolicy()).learn(trajectory.split(8))])
