"""Every way to print an error: format, TracebackException, walk_tb, limit, capture_locals, cgitb-like, suggestions, carets."""
import io
import sys
import traceback


class Weird(Exception):
    def __str__(self):
        raise RuntimeError("no str")


def one(x):
    secret = 42
    return two(x=x, y=[i for i in range(3)])


def two(x, y):
    return (x["a"]["b"]
            + y[0])


try:
    one({"a": {}})
except KeyError as error:
    te = traceback.TracebackException.from_exception(error, capture_locals=True)
    print("".join(te.format()))
    print(traceback.format_exception(error, limit=-1))
    print([(f.name, n) for f, n in ((f.f_code.co_name and traceback.FrameSummary("x", n, f.f_code.co_name), n) for f, n in traceback.walk_tb(error.__traceback__)) for f in [f]])
    print([(s.lineno, s.end_lineno, s.colno, s.end_colno) for s in traceback.extract_tb(error.__traceback__)])
    tb = error.__traceback__
    while tb:
        print(tb.tb_lineno, tb.tb_frame.f_lineno, sorted(tb.tb_frame.f_locals)[:4] if tb.tb_next else None)
        tb = tb.tb_next
try:
    try:
        raise Weird
    finally:
        sys.stdotu
except AttributeError as e:
    traceback.print_exception(e, file=sys.stdout)
try:
    print(undefined_thing)
except NameError:
    print(traceback.format_exc(), repr(sys.exc_info()[1]))
buffer = io.StringIO()
traceback.print_stack(file=buffer)
print(buffer.getvalue())
try:
    exec("1 +\n")
except SyntaxError as e:
    print("".join(traceback.format_exception_only(e)), e.filename, e.lineno, e.offset)
try:
    raise ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [TypeError(2)])])
except* TypeError as eg:
    print("".join(traceback.format_exception(eg)))
