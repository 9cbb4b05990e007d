import sys
import traceback


def inner(x):
    return 1 / x


def outer():
    try:
        inner(0)
    except ZeroDivisionError:
        tb = sys.exc_info()[2]
        while tb:
            print(tb.tb_lineno, tb.tb_lasti, tb.tb_frame.f_code.co_name, sorted(tb.tb_frame.f_locals)[:3])
            tb = tb.tb_next
        raise


try:
    outer()
except ZeroDivisionError as e:
    print("".join(traceback.format_exception(e)))
    print(traceback.extract_tb(e.__traceback__))
    summary = traceback.TracebackException.from_exception(e, capture_locals=True)
    print([(f.lineno, f.name, f.colno, f.end_colno, f.line) for f in summary.stack])
