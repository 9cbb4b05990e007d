import sys
from collections import Counter

calls = Counter()


def profile(frame, event, arg):
    calls[frame.f_code.co_name, event, getattr(arg, "__name__", "") if event.startswith("c_") else ""] += 1


def leaf(x):
    y = len(str(x))
    return y


def work(n):
    return sum(leaf(i) for i in range(n))


work(5_000)
sys.setprofile(profile)
work(100)
sys.setprofile(None)
print(sorted(calls.items()))
