import functools
import gc
import weakref


class Owner:
    @functools.cached_property
    def big(self):
        return [0] * 10

    @functools.lru_cache(maxsize=4)
    def slow(self, n):
        return sum(range(n))


owner = Owner()
for i in range(20):
    owner.slow(i % 6)
print(Owner.slow.cache_info(), owner.big is owner.big, vars(owner).keys())
ref = weakref.ref(owner)
Owner.slow.cache_clear()
del owner
print(ref(), gc.collect() >= 0)
values = weakref.WeakValueDictionary()
for i in range(5):
    item = Owner()
    values[i] = item
print(len(values))
del item
print(len(values))


def frame_local():
    inner = Owner()
    return weakref.ref(inner)


print(frame_local()())
try:
    kept = Owner()
    ref = weakref.ref(kept)
    del kept
    raise ValueError
except ValueError:
    print(ref())
