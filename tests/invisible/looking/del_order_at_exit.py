import atexit
import sys
import weakref


class Named:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        total = 0
        for c in self.name:
            total += ord(c)
        print("del", self.name, total, sys is None)


first = Named("first")
second = Named("second")
ring = Named("ring")
ring.me = ring
atexit.register(lambda: print("atexit 1"))
weakref.finalize(first, lambda: print("finalize"))
atexit.register(lambda: print("atexit 2", sorted(n for n in globals() if not n.startswith("__"))))
print("end of main")
