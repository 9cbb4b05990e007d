import torch


class Agent:
    def __init__(self):
        self.actor, self.critic = torch.nn.Linear(3, 1), torch.nn.Linear(4, 1)
        self.actor_optimizer = torch.optim.SGD(self.actor.parameters(), lr=0.1)
        self.critic_optimizer = torch.optim.SGD(self.critic.parameters(), lr=0.1)


def update(agent, state, action, value):
    agent.critic_optimizer.zero_grad()
    critic_loss = (agent.critic(torch.cat([state, action], 1)) - value).pow(2).mean()
    critic_loss.backward()
    agent.critic_optimizer.step()

    agent.actor_optimizer.zero_grad()
    actor_loss = -agent.critic(torch.cat([state, agent.actor(state)], 1)).mean()
    actor_loss.backward()
    agent.actor_optimizer.step()


agents = [Agent(), Agent()]
for step in range(5):
    for agent in agents:
        update(agent, torch.randn(4, 3), torch.randn(4, 1), torch.randn(4, 1))
