import atexit
import sys


def bad():
    raise ValueError("in atexit")


def last():
    print("exc", sys.exc_info(), getattr(sys, "last_type", None))


atexit.register(last)
atexit.register(bad)
atexit.register(print, "before")
