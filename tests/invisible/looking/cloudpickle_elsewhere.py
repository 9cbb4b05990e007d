import subprocess
import sys

import cloudpickle

K = 3


def outer(n):
    def inner(x):
        total = 0
        for i in range(n):
            total += x * i + K
        return total

    return inner


data = cloudpickle.dumps([outer(4), lambda v: [v, K], outer])
code = "import pickle, sys; f, g, h = pickle.load(sys.stdin.buffer); print(f(2), g(1), h(2)(5))"
done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True)
print(done.returncode, done.stdout.decode(), done.stderr.decode())
