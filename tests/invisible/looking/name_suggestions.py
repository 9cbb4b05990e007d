import collections


def f():
    countr = 1
    return counter


try:
    f()
except NameError as e:
    print(e.name)
try:
    collections.OrderdDict
except AttributeError as e:
    print(e.name)
try:
    from collections import defaltdict
except ImportError as e:
    print(e.name, e.path is None, e.msg[:30])
f()
