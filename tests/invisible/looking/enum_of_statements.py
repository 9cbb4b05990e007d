"""Every kind of statement run hot with values checked: del, global, nonlocal, async with, try/except*, match, star-targets, augmented, assert, chained."""
import asyncio
import contextlib
import sys


class T:
    log = []

    def __getitem__(self, k):
        T.log.append(("get", k))
        return 1

    def __setitem__(self, k, v):
        T.log.append(("set", k, v))

    def __delitem__(self, k):
        T.log.append(("del", k))

    def __iadd__(self, other):
        T.log.append(("iadd", other))
        return self

    def __enter__(self):
        T.log.append("enter")
        return self

    def __exit__(self, *a):
        T.log.append(("exit", a[0], sys._getframe(1).f_lineno))
        return True


def run(n):
    t = T()
    for i in range(n):
        T.log.clear()
        t[i] += 1
        t += i
        del t[i]
        first, *rest, (x, y) = [i, 1, 2, (3, 4)]
        a = b = t[0:i:2] = first
        with t as u, contextlib.suppress(KeyError), t:
            if i % 2:
                raise KeyError(i)
            elif i % 3:
                continue
        try:
            assert i % 5, ("five", i)
        except AssertionError as e:
            kept = e.args
        else:
            kept = None
        finally:
            z = i
        try:
            if i % 4 == 0:
                raise ExceptionGroup("x", [ValueError(i), KeyError(i)])
        except* ValueError as g:
            kept = (kept, len(g.exceptions))
        except* KeyError:
            pass
        match (i % 3, [i, {"k": i}]):
            case (0, [p, {"k": q, **r}]) if p == q:
                s = ("m", p, r)
            case (1 | 2 as w, _):
                s = ("w", w)
        del first
        nonl = 0

        def bump():
            nonlocal nonl
            nonl += 1
            return nonl

        bump()
    return T.log, rest, x, y, a, b, z, kept, s, nonl


for k in (1, 2, 7, 60, 300, 301):
    print(run(k))


async def coro():
    @contextlib.asynccontextmanager
    async def cm():
        yield 1

    async def ag():
        for i in range(3):
            yield i

    async with cm() as one, cm():
        return one, [i async for i in ag() if i], {i: await asyncio.sleep(0, i) async for i in ag()}


print([asyncio.run(coro()) for _ in range(3)][-1])
