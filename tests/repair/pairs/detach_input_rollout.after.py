import torch

torch.manual_seed(0)
policy = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
opt = torch.optim.Adam(policy.parameters())
for _ in range(2):
    states = torch.randn(16, 4)
    dist = torch.distributions.Categorical(logits=policy(states))
    actions = dist.sample()
    old, gain = dist.log_prob(actions), torch.randn(16)
    for epoch in range(3):  # several epochs over one rollout
        new = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
        ratio = (new - old.detach()).exp()
        loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
