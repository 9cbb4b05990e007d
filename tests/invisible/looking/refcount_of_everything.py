"""Reference counts and referrers of functions, constants, modules and locals."""
import gc
import sys
import types


def f(a, b=[1, 2]):
    inner = a
    return sys.getrefcount(inner), sys.getrefcount(b), sys.getrefcount(f), sys.getrefcount(f.__code__)


marker = object()
print(f(marker), sys.getrefcount(marker))
for _ in range(100):
    f(marker)
print(f(marker), sys.getrefcount(marker))


class K:
    x = marker

    def method(self):
        return sys.getrefcount(self)


k = K()
print(k.method(), sys.getrefcount(K) , len(gc.get_referrers(k)), sys.getrefcount(k))
print([type(r).__name__ for r in gc.get_referrers(marker)])
print(sorted(type(r).__name__ for r in gc.get_referrers(f)), sorted(type(r).__name__ for r in gc.get_referrers(K.method)))
g = (i for i in [marker])
print(sys.getrefcount(marker), next(g) is marker, sys.getrefcount(marker))
del g
print(sys.getrefcount(marker))
try:
    raise ValueError(marker)
except ValueError as e:
    print(sys.getrefcount(marker), len(gc.get_referrers(e)))
print(sys.getrefcount(marker), len([o for o in gc.get_objects() if isinstance(o, types.FrameType) and o.f_code.co_filename == __file__]))
print(gc.get_referents(f)[0].__class__, gc.is_tracked(f), sys.getsizeof(f), sys.getsizeof(k))
