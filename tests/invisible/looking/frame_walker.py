"""Walks its own frames from deep inside comprehension, lambda, generator and class body."""
import sys


def chain():
    frame, found = sys._getframe(1), []
    while frame is not None:
        found.append((frame.f_code.co_name, frame.f_lineno, sorted(frame.f_locals)[:6], frame.f_back is None))
        frame = frame.f_back
    return found


print(chain())
print([chain() for _ in range(1)])
print((lambda: chain())())


class Body:
    seen = chain()

    def __init_subclass__(cls, **kw):
        cls.how = chain()

    def __class_getitem__(cls, item):
        return chain()


class Sub(Body):
    pass


print(Body.seen, Sub.how, Body[1])


def gen():
    yield chain()
    yield from (chain() for _ in range(1))


print(list(gen()))
print(sorted(map(lambda _: chain(), [1]), key=lambda c: (chain(), 0)[1]))
