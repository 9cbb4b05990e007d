import sys


def f(*w):
    return w


def k(a):
    return f(1) if a else f(2)


def k2(a):
    return f(1, 2)


def k3(a):
    return [x for x in f(1, 2)]


def k4(a):
    return f(
        1,
        f(2),
    )


k5 = lambda a: f(1) if a else f(2)
k6 = lambda a: f(1, f(2))


def k7(a):
    x = yield f(1)
    y = yield f(2)
    return x or y


def k8(a):
    try:
        return f(1)
    finally:
        f(3)


k10 = lambda a: a or f(3)
k11 = lambda a: [f(i) for i in range(2)]


async def k12(a):
    return await k13(1)


async def k13(a):
    return f(a)


def k14(a):
    return lambda: f(a)


ev = []


def tr(fr, e, a):
    if fr.f_code.co_filename == __file__:
        ev.append((e, fr.f_code.co_name, fr.f_lineno))
    return tr


def go(fn, a):
    ev.clear()
    sys.settrace(tr)
    r = fn(a)
    if hasattr(r, "__next__"):
        list(r)
    if hasattr(r, "send") and not hasattr(r, "__next__"):
        try:
            r.send(None)
        except StopIteration:
            pass
    if callable(r):
        r()
    sys.settrace(None)
    print(fn.__name__, a, ev)


for fn in (k, k2, k3, k4, k5, k6, k7, k8, k10, k11, k12, k14):
    for a in (0, 1):
        go(fn, a)
