import torch
from agent import Actor, WorldModel

torch.manual_seed(47)
model, actor = WorldModel(), Actor()
model_opt = torch.optim.Adam(model.parameters(), lr=1e-3)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)


def train_model(obs, act, reward):
    latents = model.encode(obs)
    nxt = model.dynamics(torch.cat([latents[:-1], act[:-1]], -1))
    loss = (nxt - latents[1:].detach()).pow(2).mean() + (model.reward(latents).squeeze(-1) - reward).pow(2).mean()
    model_opt.zero_grad()
    loss.backward()
    model_opt.step()
    return latents, loss.item()


def train_actor(start, horizon=3):
    model.requires_grad_(False)
    z, value = start, 0.0
    for _ in range(horizon):
        z = model.dynamics(torch.cat([z, actor(z)], -1))
        value = value + model.reward(z).mean()
    actor_opt.zero_grad()
    (-value).backward()
    actor_opt.step()
    model.requires_grad_(True)
    return value.item()


for k in range(3):
    obs, act, reward = torch.randn(12, 5), torch.randn(12, 2), torch.randn(12)
    latents, model_loss = train_model(obs, act, reward)
    dreamt = train_actor(latents)
    print(k, round(model_loss, 4), round(dreamt, 4))
