import sys

count = [0]
offsets = set()


def tracer(frame, event, arg):
    frame.f_trace_opcodes = True
    if event == "opcode":
        count[0] += 1
        offsets.add(frame.f_lasti)
    return tracer


def f(n):
    t = 0
    for i in range(n):
        t += i
    return t


sys.settrace(tracer)
f(10)
sys.settrace(None)
print(count, sorted(offsets))
