import inspect
from functools import partial, partialmethod


def f(a, /, b: int = 2, *args, c=3, **kw) -> list:
    return [a, b, args, c, kw]


print(inspect.signature(f), inspect.signature(partial(f, 1, c=5)), inspect.getfullargspec(f))
bound = inspect.signature(f).bind(1, 2, 3, z=4)
bound.apply_defaults()
print(bound.arguments, f(*bound.args, **bound.kwargs))


class A:
    def m(self, x, y):
        return x, y

    n = partialmethod(m, 1)


print(inspect.signature(A.n), A().n(2), inspect.getmembers(A, inspect.isfunction)[0][0])
