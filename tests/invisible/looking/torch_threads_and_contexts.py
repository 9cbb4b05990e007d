"""Backward in threads and executors, with contextvars, grad mode per thread, an exception in each, and asyncio loops that train."""
import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

var = contextvars.ContextVar("v", default="none")


def job(seed):
    var.set(seed)
    g = torch.Generator().manual_seed(seed)
    w = torch.ones(3, requires_grad=True)
    for _ in range(20):
        loss = (w * torch.randn(3, generator=g)).pow(2).sum()
        grad, = torch.autograd.grad(loss, w)
        w = (w - 0.01 * grad).detach().requires_grad_()
    try:
        torch.autograd.grad(loss, w)
    except RuntimeError as e:
        kind = str(e)[:30]
    return w.tolist(), var.get(), torch.is_grad_enabled(), kind, threading.current_thread().name[:4]


with ThreadPoolExecutor(4, thread_name_prefix="pool") as pool:
    for row in pool.map(job, range(6)):
        print(row)
print(var.get())
seen = []
t = threading.Thread(target=lambda: (torch.set_grad_enabled(False), seen.append(torch.is_grad_enabled())))
t.start()
t.join()
print(seen, torch.is_grad_enabled())


async def train(k):
    w = torch.zeros(2, requires_grad=True)
    for i in range(5):
        ((w - k) ** 2).sum().backward()
        await asyncio.sleep(0)
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
    return w.tolist()


async def main():
    return await asyncio.gather(*map(train, range(4)))


print(asyncio.run(main()))
hook_threads = []
w = torch.ones(1, requires_grad=True)
w.register_hook(lambda g: hook_threads.append(threading.current_thread() is threading.main_thread()))
(w * 2).backward()
print(hook_threads, threading.active_count())
