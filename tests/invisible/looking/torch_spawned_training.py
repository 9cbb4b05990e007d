import torch
import torch.multiprocessing as mp


def train(rank, queue):
    torch.manual_seed(rank)
    w = torch.rand(2, requires_grad=True)
    for _ in range(3):
        loss = (w * w).sum()
        loss.backward()
    queue.put((rank, w.grad.tolist()))


def fails(rank):
    w = torch.rand(2, requires_grad=True)
    y = w.exp().sum()
    y.backward()
    y.backward()


if __name__ == "__main__":
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(train, (queue,), nprocs=1)
    print(queue.get())
    try:
        mp.spawn(fails, nprocs=1)
    except Exception as e:
        print(type(e).__name__, str(e).count("File"), str(e).strip().splitlines()[-1][:60])
