import sys


def check(x):
    assert x > 1, f"{x} is small"
    return x


try:
    check(0)
except AssertionError as e:
    print(e, e.__traceback__.tb_next.tb_lineno, sys.flags.optimize, __debug__)
assert check(2) == (3), "not three"
