import asyncio
import contextvars
import sys

who = contextvars.ContextVar("who", default="nobody")


async def worker(name):
    who.set(name)
    await asyncio.sleep(0)
    if name == "b":
        raise KeyError(name)
    return who.get(), sys._getframe().f_back is not None


async def main():
    tasks = [asyncio.create_task(worker(n), name=n) for n in "abc"]
    done = await asyncio.gather(*tasks, return_exceptions=True)
    print(done, who.get())
    task = asyncio.current_task()
    print(task.get_name(), [f.f_code.co_name for f in task.get_stack()], len(asyncio.all_tasks()))
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(5)
    except TimeoutError:
        print("timeout")
    async with asyncio.TaskGroup() as group:
        group.create_task(worker("b"))


asyncio.run(main(), debug=True)
