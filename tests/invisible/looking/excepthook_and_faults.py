"""Own excepthook that prints frames and locals, replaced twice; faulthandler to a file; sys.exit inside of it."""
import faulthandler
import re
import sys
import traceback


def hook(kind, value, tb):
    sys.stdout.write(f"hook: {kind.__name__} {value}\n")
    while tb:
        sys.stdout.write(f"  {tb.tb_frame.f_code.co_name}:{tb.tb_lineno} {sorted(tb.tb_frame.f_locals)[:5] if tb.tb_frame.f_code.co_name != '<module>' else ''}\n")
        tb = tb.tb_next
    frame, n = sys._getframe(), 0
    while frame:
        n += 1
        frame = frame.f_back
    sys.stdout.write(f"depth {n} {sys.exc_info()} {value.__traceback__ is not None} {hasattr(sys, 'last_value')} {getattr(value, '__notes__', None)}\n")
    sys.exit(17)


sys.excepthook = hook
with open("fault.txt", "w") as file:
    faulthandler.dump_traceback(file)
print(re.sub("0x[0-9a-f]+", "0x", open("fault.txt").read()), faulthandler.is_enabled())


def f(a):
    local = a
    g(local)


def g(b):
    raise ArithmeticError("end")


f(1)
