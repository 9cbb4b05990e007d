import torch


class Agent:
    def __init__(self):
        self.actor = torch.nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD(self.actor.parameters(), lr=0.1)

    def act(self, state):
        return self.actor(state).detach().numpy().flatten()


agent = Agent()
for step in range(4):
    state = torch.randn(1, 2)
    action = agent.act(state)
    loss = (agent.actor(state) - float(action[0]) - 1).pow(2).mean()
    agent.optimizer.zero_grad()
    loss.backward()
    agent.optimizer.step()
