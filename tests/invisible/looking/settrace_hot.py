import sys
from collections import Counter

lines = Counter()


def tracer(frame, event, arg):
    lines[frame.f_code.co_name, frame.f_lineno, event] += 1
    return tracer


def work(n):
    total = 0
    while n:
        n -= 1
        if n & 1:
            total += n
        else:
            total ^= n
    return total


work(20_000)
sys.settrace(tracer)
work(2_000)
sys.settrace(None)
print(sorted(lines.items()))
