"""pickle, dill if there, cloudpickle, copyreg, shelve: functions of __main__, nested classes, lambdas; sizes and reloading elsewhere."""
import copy
import functools
import hashlib
import pickle
import pickletools
import subprocess
import sys

import cloudpickle


class Point:
    class Inner:
        def __init__(self, v):
            self.v = v

    def __init__(self, x):
        self.x = x

    def __reduce_ex__(self, protocol):
        return (Point, (self.x,), {"p": protocol})


def func(a, *, b=2):
    return a * b


for p in range(6):
    data = pickle.dumps([func, Point(1), Point.Inner(2), functools.partial(func, b=3)], p)
    print(p, len(data), hashlib.md5(data).hexdigest(), pickle.loads(data)[3](5))
print([op.name for op, *_ in pickletools.genops(pickle.dumps(func))])
for bad in (lambda: 1, (i for i in ()), sys._getframe()):
    try:
        pickle.dumps(bad)
    except Exception as e:
        print(type(e).__name__, str(e).split(" at 0x")[0])
k = 5


def closing(z):
    def inner(q):
        return q + z + k
    return inner


for _ in range(50):
    closing(1)(2)
blob = cloudpickle.dumps([closing(10), lambda u: u ** 2, Point, [c for c in (1, 2)]])
print(len(blob), hashlib.md5(blob).hexdigest() == hashlib.md5(cloudpickle.dumps([closing(10), lambda u: u ** 2, Point, [c for c in (1, 2)]])).hexdigest())
done = subprocess.run([sys.executable, "-c", "import sys, pickle; f, g, P, l = pickle.load(sys.stdin.buffer); print(f(1), g(3), P(4).x, l, f.__code__.co_consts, g.__code__.co_code.hex())"], input=blob, capture_output=True)
print(done.stdout.decode(), done.stderr.decode()[-300:])
print(copy.deepcopy(func) is func, copy.copy(Point(3)).x)
