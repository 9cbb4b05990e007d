import torch, torch.nn as nn, torch.nn.functional as F
from torch.distributions import Categorical

class Policy(nn.Module):
  def __init__(self):
    super(Policy, self).__init__()
    self.affine1 = nn.Linear(4, 16)
    self.affine2 = nn.Linear(16, 2)
    self.saved_log_probs = []
    self.rewards = []
  def forward(self, x):
    return F.softmax(self.affine2(F.relu(self.affine1(x))), dim=-1)

policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

def select_action(state):
  probs = policy(state)
  m = Categorical(probs)
  action = m.sample()
  policy.saved_log_probs.append(m.log_prob(action))
  return action.item()

def finish_episode():
  R = 0; policy_loss = []; returns = []
  for r in policy.rewards[::-1]:
    R = r + 0.99 * R
    returns.insert(0, R)
  returns = torch.tensor(returns)
  returns = (returns - returns.mean()) / (returns.std() + 1e-6)
  for log_prob, R in zip(policy.saved_log_probs, returns): policy_loss.append(-log_prob * R)
  optimizer.zero_grad()
  policy_loss = torch.stack(policy_loss).sum()
  policy_loss.backward()
  optimizer.step()
  del policy.rewards[:]
  del policy.saved_log_probs[:]

def main():
  torch.manual_seed(0)
  for i_episode in range(6):
    state = torch.randn(4)
    for t in range(5):
      action = select_action(state)
      state, reward = torch.randn(4), float(action)
      policy.rewards.append(reward)
    finish_episode()

if __name__ == '__main__':
  main()
