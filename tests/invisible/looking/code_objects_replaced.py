"""f.__code__ replaced, types.FunctionType from code, code.replace with new names and lines, swapped defaults, while hot."""
import types


def f(x, y=1):
    z = x + y
    return z * 2


def g(x, y=1):
    z = x - y
    return z * 3


def run(n):
    return [f(i) for i in range(n)][-1]


print(run(500))
old, f.__code__ = f.__code__, g.__code__
print(run(500))
f.__code__ = old.replace(co_name="renamed", co_firstlineno=100)
print(run(500), f.__code__.co_name, f.__code__.co_firstlineno)
try:
    f("a")
except TypeError as e:
    print(e.__traceback__.tb_next.tb_lineno)
h = types.FunctionType(f.__code__, {"__builtins__": {}}, "h", (5,))
print([h(i) for i in range(400)][-1], h.__name__, h.__globals__)
k = old.replace(co_consts=tuple(7 if c == 2 else c for c in old.co_consts))
f.__code__ = k
print(run(300), f.__code__ == k, len({old, k, f.__code__}))
f.__defaults__ = (100,)
print(run(10))
try:
    f.__code__ = (lambda: old).__code__
except ValueError as e:
    print(e)
def gen(n):
    for i in range(n):
        yield i


it = gen(100)
next(it)
gen.__code__ = (lambda n: iter("abc")).__code__
print(list(it)[-1], list(gen(3)))
