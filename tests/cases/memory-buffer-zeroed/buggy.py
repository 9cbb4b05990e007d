import torch
from torch import nn
from slots import SlotMemory

torch.manual_seed(40)


class Reader(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.embed = nn.Linear(3, dim)
        self.mem = SlotMemory(4, dim)
        self.answer = nn.Linear(dim, 1)

    def forward(self, story, query):
        self.mem.clear()
        for i, line in enumerate(story.unbind(0)):
            self.mem.write(i % 4, self.embed(line))
        return self.answer(self.mem.read(self.embed(query)))


net = Reader()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for episode in range(3):
    story, query = torch.randn(6, 3), torch.randn(3)
    wanted = (story @ query).max().view(1)
    loss = nn.functional.smooth_l1_loss(net(story, query), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(episode, round(loss.item(), 4))
