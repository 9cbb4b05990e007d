"""setprofile with C calls and returns; threading.setprofile; counts by name."""
import sys
import threading
from collections import Counter


def leaf(x):
    return len(str(x)) + abs(-x)


def work(n):
    return sum(leaf(i) for i in range(n)) + max([leaf(i) for i in range(n)])


for _ in range(100):
    work(10)
counts = Counter()


def prof(frame, event, arg):
    counts[event, getattr(arg, "__name__", "") if event.startswith("c_") else frame.f_code.co_name] += 1


sys.setprofile(prof)
work(6)
sys.setprofile(None)
print(sorted(counts.items()))
counts.clear()
threading.setprofile(prof)
t = threading.Thread(target=work, args=(5,))
t.start()
t.join()
print(sorted((k, v) for k, v in counts.items() if "lock" not in k[1] and k[1] not in ("acquire", "release")))
