import sys

jumped = []


def tracer(frame, event, arg):
    if frame.f_code.co_name == "f" and event == "line" and frame.f_lineno == START + 3 and not jumped:
        jumped.append(frame.f_lineno)
        frame.f_lineno = START + 1
    return tracer


def f():
    x = seen.append("a")
    y = seen.append("b")
    z = seen.append("c")
    return x, y, z


START = f.__code__.co_firstlineno
seen = []
sys.settrace(tracer)
f()
sys.settrace(None)
print(seen, jumped == [START + 3])
