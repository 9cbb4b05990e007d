import sys

seen = []


def tracer(frame, event, arg):
    if frame.f_code.co_filename == __file__:
        seen.append(
            (
                frame.f_code.co_name,
                frame.f_lineno - frame.f_code.co_firstlineno,
                event,
                repr(arg) if event == "return" else "",
            )
        )
    return tracer


def risky(n):
    with open(__file__) as f:
        try:
            if n:
                raise ValueError(n)
            return f.readline()[:6]
        except ValueError as e:
            value = [e.args[0] for _ in range(2)]
        finally:
            n += 1
    return value, n


sys.settrace(tracer)
risky(0)
risky(1)
sys.settrace(None)
for line in seen:
    print(*line)
