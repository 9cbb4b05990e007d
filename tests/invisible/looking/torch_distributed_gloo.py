"""DDP on two processes with gloo: hooks, buckets, no_sync, join, results; barrier at the end."""
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP


def worker(rank, path, queue):
    dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    ddp = DDP(net)
    opt = torch.optim.SGD(ddp.parameters(), 0.1)
    torch.manual_seed(rank)
    for i in range(4):
        opt.zero_grad()
        with ddp.no_sync():
            ddp(torch.randn(2, 3)).sum().backward()
        ddp(torch.randn(2, 3)).pow(2).sum().backward()
        opt.step()
    queue.put((rank, [p.sum().item() for p in net.parameters()], sorted(n for n in vars(ddp) if "hook" in n)))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    queue = mp.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, (folder + "/f", queue), 2)
    for line in sorted(queue.get() for _ in range(2)):
        print(line)
