import inspect


def gen():
    try:
        got = yield 1
        print("got", got)
        yield from (x for x in (2, 3))
    except GeneratorExit:
        print("closed")
        raise
    finally:
        print("finally")


g = gen()
print(inspect.getgeneratorstate(g), g.gi_frame.f_lasti, g.gi_yieldfrom)
next(g)
print(inspect.getgeneratorstate(g), g.gi_frame.f_lineno, inspect.getgeneratorlocals(g))
print(g.send("x"), g.gi_yieldfrom is not None)
g.close()
print(inspect.getgeneratorstate(g), g.gi_frame)


def hot(n):
    for i in range(n):
        yield i


h = hot(5_000)
print(sum(next(h) for _ in range(3_000)), h.gi_frame.f_lineno, sum(h))


async def agen():
    yield 1


a = agen()
print(inspect.isasyncgen(a), a.ag_frame.f_lineno)
