"""`sys.unraisablehook`: errors in __del__, weakref callbacks and gc callbacks."""
import gc
import sys
import weakref

seen = []
sys.unraisablehook = lambda u: seen.append((type(u.exc_value).__name__, str(u.exc_value), u.err_msg, u.exc_traceback.tb_lineno, u.exc_traceback.tb_next is None))


class A:
    def __del__(self):
        raise ValueError("del of " + self.name)


a = A()
a.name = "a"
del a
b = A()
b.name = "b"
b.me = b
del b
gc.collect()


class C:
    pass


c = C()
ref = weakref.ref(c, lambda r: 1 / 0)
del c
print(seen)
sys.unraisablehook = sys.__unraisablehook__
d = A()
d.name = "d"
del d
print("end")
