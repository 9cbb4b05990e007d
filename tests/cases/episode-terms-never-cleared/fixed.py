import asyncio

import torch

torch.manual_seed(7)


class Actor:
    def __init__(self, net):
        self.net = net
        self.pending = []

    async def act(self, obs):
        out = self.net(obs)
        self.pending.append(out.log_softmax(-1)[:, 0].mean())
        await asyncio.sleep(0)
        return out.argmax(-1)

    async def learn(self, opt):
        loss = -torch.stack(self.pending).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        self.pending.clear()


async def main():
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    actor, opt = Actor(net), torch.optim.SGD(net.parameters(), lr=0.1)
    for episode in range(3):
        for t in range(3):
            await actor.act(torch.randn(2, 3))
        await actor.learn(opt)


asyncio.run(main())
