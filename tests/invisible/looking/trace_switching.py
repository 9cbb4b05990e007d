"""settrace set and unset in the middle of hot loops, by threads too; events counted exactly."""
import sys
import threading
from collections import Counter


def work(n):
    out = []
    for i in range(n):
        try:
            if i % 3 == 0:
                raise KeyError(i)
            out.append(i)
        except KeyError:
            out.append(-i)
        finally:
            i += 1
    with open(__file__) as f:
        f.readline()
    return sum(out)


for _ in range(200):
    work(20)
events = Counter()


def tracer(frame, event, arg):
    if frame.f_code.co_filename != __file__:
        return None
    events[event, frame.f_code.co_name, frame.f_lineno] += 1
    return tracer


sys.settrace(tracer)
work(5)
sys.settrace(None)
print(sorted(events.items()))
events.clear()
work(50)
threading.settrace(tracer)
t = threading.Thread(target=work, args=(4,))
t.start()
t.join()
threading.settrace(None)
print(sorted(events.items()))
events.clear()


def half(n):
    for i in range(n):
        if i == n // 2:
            sys.settrace(tracer)
            sys._getframe().f_trace = tracer
        x = i * 2
    return x


half(10)
sys.settrace(None)
print(sorted(events.items()))
print(sys.gettrace())
