"""DataLoader with workers: worker info, seeds, an error in a worker with its text, collate and pin, iterable datasets, early stops."""
import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Squares(Dataset):
    def __init__(self, bad=None):
        self.bad = bad

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == self.bad:
            raise LookupError(f"item {i}")
        info = get_worker_info()
        return torch.tensor([i * i]), info.id, info.seed - info.id, torch.rand(1), sys.gettrace() is None, "afterward" in os.environ.get("PYTHONPATH", "")


class Stream(IterableDataset):
    def __iter__(self):
        for i in range(6):
            yield i + 100 * get_worker_info().id


def init(i):
    torch.manual_seed(i)


if __name__ == "__main__":
    torch.manual_seed(0)
    for kind in ("fork", "spawn"):
        for batch in DataLoader(Squares(), 4, num_workers=2, worker_init_fn=init, multiprocessing_context=kind):
            print(kind, batch[0].flatten().tolist(), batch[1].tolist(), batch[2].tolist(), batch[3].flatten().tolist(), batch[4].tolist(), batch[5].tolist())
    print(sorted(int(v) for b in DataLoader(Stream(), 2, num_workers=2) for v in b))
    it = iter(DataLoader(Squares(), 1, num_workers=1, persistent_workers=True))
    print(next(it)[0])
    del it
    net = torch.nn.Linear(1, 1)
    for batch in DataLoader(Squares(), 6, num_workers=1):
        net(batch[0].float()).sum().backward()
    print(net.weight.grad)
    try:
        list(DataLoader(Squares(5), 4, num_workers=1))
    except LookupError as e:
        print(str(e).replace(os.path.dirname(os.path.abspath(__file__)), "."))
    list(DataLoader(Squares(2), 4, num_workers=1))
