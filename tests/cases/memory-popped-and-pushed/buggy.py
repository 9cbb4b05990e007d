import torch
cell = torch.nn.GRUCell(4, 8)
opt = torch.optim.SGD(cell.parameters(), 0.1)
class Agent: pass
agent = Agent()
agent.memory = []
agent.memory.append(torch.zeros(1, 8))
for x in torch.randn(4, 1, 4):
    agent.memory.append(cell(x, agent.memory.pop()))
    loss = agent.memory[-1].sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 4))
