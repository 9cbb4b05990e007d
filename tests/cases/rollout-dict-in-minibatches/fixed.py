import torch
from torch import nn
torch.manual_seed(0)
policy = nn.Linear(4, 2)
value = nn.Linear(4, 1)
opt = torch.optim.SGD([*policy.parameters(), *value.parameters()], 1e-2)
def collect(n):
    buf = {"obs": [], "act": [], "logp": [], "val": [], "rew": []}
    obs = torch.randn(4)
    for _ in range(n):
        logp = torch.log_softmax(policy(obs), -1)
        a = torch.multinomial(logp.exp().detach(), 1)
        buf["obs"].append(obs); buf["act"].append(a); buf["logp"].append(logp[a]); buf["val"].append(value(obs)); buf["rew"].append(torch.randn(1))
        obs = torch.randn(4)
    return {k: torch.stack(v).detach() for k, v in buf.items()}
for it in range(2):
    data = collect(8)
    ret = data["rew"].flip(0).cumsum(0).flip(0)
    for idx in torch.randperm(8).split(4):
        obs, act = data["obs"][idx], data["act"][idx]
        logp = torch.log_softmax(policy(obs), -1).gather(1, act)
        adv = (ret[idx] - data["val"][idx])
        ratio = (logp - data["logp"][idx]).exp()
        v = value(obs)
        loss = -(ratio * adv).mean() + (v - ret[idx]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
print(round(loss.item(), 4))
