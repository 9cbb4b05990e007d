import signal

import torch


class Stop(Exception):
    pass


def handler(number, frame):
    raise Stop


torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):  # torch imports some of its parts at a first step, and swallows what is raised there
    net(torch.rand(4, 3)).sum().backward()
    optimizer.step()
signal.signal(signal.SIGALRM, handler)
stopped = 0
kept = []
for trial in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        while True:
            loss = net(torch.rand(4, 3)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            kept.append(loss.item())
    except Stop as e:
        stopped += 1
        torch.set_grad_enabled(True)  # a step that is interrupted at its very end leaves gradients switched off
        chain = []
        while e.__context__:
            e = e.__context__
            chain.append(type(e).__name__)
        if chain:
            print(chain)
print(stopped)
