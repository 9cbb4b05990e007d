import asyncio, contextvars, torch, sys
v = contextvars.ContextVar("v", default=0)
async def train(i):
    v.set(i)
    m = torch.nn.Linear(2, 1); torch.nn.init.constant_(m.weight, i); torch.nn.init.zeros_(m.bias)
    for s in range(5):
        loss = m(torch.ones(1, 2)).pow(2).sum()
        await asyncio.sleep(0)
        loss.backward()
    return i, v.get(), m.weight.grad.tolist(), [f.f_code.co_name for f in asyncio.current_task().get_stack()]
async def bad():
    x = torch.ones(1, requires_grad=True); y = x.exp(); y.backward(); await asyncio.sleep(0); y.backward()
async def main():
    print(await asyncio.gather(*(train(i) for i in range(4))))
    print(await asyncio.gather(bad(), return_exceptions=True))
    t = asyncio.create_task(bad(), name="bad")
    try: await t
    except RuntimeError as e: print(t, len(str(e)))
    loop = asyncio.get_running_loop()
    print(await loop.run_in_executor(None, lambda: v.get()), await asyncio.to_thread(v.get))
    async for k in agen(): print(k)
    try:
        async with asyncio.timeout(.05): await asyncio.sleep(1)
    except TimeoutError: print("timeout")
async def agen():
    for i in range(2): yield i
asyncio.run(main(), debug=False)
ctx = contextvars.copy_context(); print(len(ctx), [c.name for c in ctx])
