"""torch.multiprocessing: hogwild by spawn, shared grads, queue of tensors, an error in a child, mp.spawn's exception text."""
import os

import torch
import torch.multiprocessing as mp


def train(rank, net, results):
    torch.manual_seed(rank)
    opt = torch.optim.SGD(net.parameters(), 0.0)
    for i in range(5):
        opt.zero_grad()
        loss = net(torch.randn(3, 2)).pow(2).sum()
        loss.backward()
        opt.step()
    results.put((rank, loss.item()))


def failing(rank):
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    if rank == 1:
        y.backward()


def fork_failing():
    failing(1)


if __name__ == "__main__":
    torch.manual_seed(0)
    net = torch.nn.Linear(2, 1).share_memory()
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(train, (net, queue), 2)
    print(sorted(queue.get() for _ in range(2)))
    try:
        mp.spawn(failing, (), 2)
    except mp.ProcessRaisedException as e:
        print(str(e).replace(os.path.dirname(os.path.abspath(__file__)), "."), e.error_index)
    p = mp.get_context("fork").Process(target=fork_failing)
    p.start()
    p.join()
    print(p.exitcode)
