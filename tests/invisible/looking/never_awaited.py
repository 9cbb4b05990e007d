import asyncio
import sys

sys.set_coroutine_origin_tracking_depth(3)


async def forgotten():
    return 1


async def main():
    forgotten()
    await asyncio.sleep(0)


asyncio.run(main())
