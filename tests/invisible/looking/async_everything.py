"""asyncio: task names, cancelled tasks, exception handlers, debug mode, async generators left, task stacks."""
import asyncio
import contextvars
import sys

var = contextvars.ContextVar("var", default=0)
handled = []


async def agen():
    try:
        for i in range(10):
            yield i
    finally:
        print("agen closed", sys._getframe().f_lineno)


async def child(n):
    var.set(n)
    await asyncio.sleep(0)
    if n == 2:
        raise ValueError(n)
    return var.get()


async def forever():
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        print("cancelled", sys.exc_info()[1].__traceback__.tb_lineno)
        raise


async def main():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda l, c: handled.append((c["message"], repr(c.get("exception")))))
    print(await asyncio.gather(*(child(i) for i in range(4)), return_exceptions=True), var.get())
    task = asyncio.create_task(forever(), name="f")
    await asyncio.sleep(0)
    print([f.f_lineno for f in task.get_stack()], task.get_coro().cr_await is not None)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    async for x in agen():
        if x == 2:
            break
    asyncio.create_task(child(2))
    await asyncio.sleep(0.01)
    import gc
    gc.collect()
    async with asyncio.timeout(5), asyncio.TaskGroup() as tg:
        a, b = tg.create_task(child(1)), tg.create_task(child(3))
    print(a.result(), b.result(), handled)
    try:
        async with asyncio.TaskGroup() as tg:
            tg.create_task(child(2))
            tg.create_task(forever())
    except* ValueError as group:
        print(group.exceptions, group.exceptions[0].__traceback__.tb_lineno)


asyncio.run(main(), debug=True)


async def bad():
    await child(2)


asyncio.run(bad())
