import sys


class Big:
    pass


def f(x):
    y = x
    return sys.getrefcount(x)


big = Big()
print(sys.getrefcount(big), f(big), sys.getrefcount(f.__code__), sys.getrefcount(f))
for _ in range(3000):
    f(big)
print(sys.getrefcount(big), sys.getrefcount(f))
