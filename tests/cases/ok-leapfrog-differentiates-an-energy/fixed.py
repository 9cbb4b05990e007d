import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(283)


class HamiltonianNet(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * dim, 16), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, q, p):
        return self.net(torch.cat([q, p], dim=-1))


class Integrator:
    def __init__(self, delta_t=0.1):
        self.delta_t = delta_t

    def _grads(self, q, p, hnn):
        energy = hnn(q, p)
        dq_dt = torch.autograd.grad(energy, p, torch.ones_like(energy), retain_graph=True, create_graph=True)[0]
        dp_dt = -torch.autograd.grad(energy, q, torch.ones_like(energy), retain_graph=True, create_graph=True)[0]
        return dq_dt, dp_dt, energy

    def step(self, q, p, hnn):
        _, dp_dt, _ = self._grads(q, p, hnn)
        half = p + dp_dt * self.delta_t / 2
        dq_dt, _, energy = self._grads(q, half, hnn)
        q = q + dq_dt * self.delta_t
        _, dp_dt, _ = self._grads(q, half, hnn)
        return q, half + dp_dt * self.delta_t / 2, energy


class HGN:
    def __init__(self):
        self.encoder, self.decoder, self.hnn = nn.Linear(3, 4), nn.Linear(2, 3), HamiltonianNet()
        self.integrator = Integrator()
        modules = (self.encoder, self.decoder, self.hnn)
        self.optimizer = torch.optim.Adam([p for m in modules for p in m.parameters()], lr=2e-3)

    def fit(self, rollout):
        q, p = self.encoder(rollout[0]).chunk(2, dim=-1)
        error, energies = 0.0, []
        for frame in rollout:
            error = error + F.mse_loss(self.decoder(q), frame)
            q, p, energy = self.integrator.step(q, p, self.hnn)
            energies.append(energy.mean())
        loss = error / len(rollout)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), torch.stack(energies).std().item()


model = HGN()
for it in range(4):
    print(it, *(f"{v:.5f}" for v in model.fit(torch.randn(4, 6, 3))))
