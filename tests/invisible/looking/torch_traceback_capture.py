import traceback, sys, torch
def deep(n, x):
    if n == 0:
        return (x * x).sum()
    return deep(n - 1, x)
x = torch.ones(3, requires_grad=True)
loss = deep(5, x)
loss.backward()
try:
    loss.backward()
except RuntimeError as e:
    te = traceback.TracebackException.from_exception(e, capture_locals=True)
    print("".join(te.format()))
    print([(f.name, f.lineno, f.end_lineno, f.colno, f.end_colno) for f in te.stack])
    print(e.args[0][:60], getattr(e, "__notes__", None), e.__context__, e.__cause__)
print(traceback.format_stack())
traceback.print_list(traceback.extract_stack(limit=2))
def w():
    try: raise ValueError("a")
    except ValueError as a:
        raise KeyError("b") from a
try: w()
except KeyError as e:
    traceback.print_exception(e, chain=True, file=sys.stdout)
