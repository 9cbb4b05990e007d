import gc
import types


class Thing:
    pass


def made(n):
    return [Thing() for _ in range(n)]


things = made(50)
gc.collect()
print(sum(isinstance(o, Thing) for o in gc.get_objects()))
mine = [o for o in gc.get_objects() if isinstance(o, types.FunctionType) and o.__module__ == "__main__"]
print(sorted(f.__qualname__ for f in mine))
print(len(gc.get_referrers(things)), [type(r).__name__ for r in gc.get_referrers(things[0])])
print(sorted(type(r).__name__ for r in gc.get_referents(made)))
del things
print(gc.collect() >= 0, sum(isinstance(o, Thing) for o in gc.get_objects()), gc.garbage)
