import torch
from torch import nn
torch.manual_seed(0)

class Agent:
    def __init__(self):
        self.rnn = nn.GRUCell(3, 5)
        self.memory = [torch.zeros(2, 5), torch.zeros(2, 5)]
        self.opt = torch.optim.SGD(self.rnn.parameters(), lr=0.1)

    def observe(self, x):
        for i, m in enumerate(self.memory):
            self.memory[i] = self.rnn(x, m)
        return sum(self.memory)

    def learn(self, x):
        loss = self.observe(x).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

agent = Agent()
for x in torch.randn(5, 2, 3):
    agent.memory = [t.detach() for t in agent.memory]
    agent.learn(x)
