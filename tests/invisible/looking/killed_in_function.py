import os
import signal
import sys

print("before")
sys.stdout.flush()


def loop(n):
    for i in range(n):
        if i == 5_000:
            os.kill(os.getpid(), signal.SIGKILL)
    return i


loop(10_000)
