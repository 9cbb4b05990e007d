"""What runs when generators are closed, thrown into, or left at exit."""
import gc
import sys


def g(name):
    try:
        while True:
            got = yield name
            print("got", got, sys._getframe().f_lineno)
    except GeneratorExit:
        print("closing", name, sys._getframe().f_lineno)
        raise
    except ValueError as e:
        print("thrown", e, e.__traceback__.tb_lineno)
        yield "after"
    finally:
        print("finally", name)


a = g("a")
next(a)
a.send(1)
print(a.throw(ValueError("v")))
a.close()
b = g("b")
next(b)
del b
gc.collect()
c = g("c")
next(c)
print(c.gi_frame.f_lineno, c.gi_running, c.gi_frame.f_lasti >= 0, c.gi_suspended)


def stubborn():
    while True:
        try:
            yield 1
        except GeneratorExit:
            print("no")
            return


s = stubborn()
next(s)
s.close()


def bad():
    try:
        yield 1
    except GeneratorExit:
        yield 2


x = bad()
next(x)
try:
    x.close()
except RuntimeError as e:
    print(e)
keep = g("at exit")
next(keep)
hot = [list(zip(range(3), g(i))) for i in range(40)]
print(len(hot))
