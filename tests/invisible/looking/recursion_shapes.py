"""How deep different shapes of recursion get."""
import json
import re
import sys


def plain(n):
    try:
        return plain(n + 1)
    except RecursionError:
        return n


def through_lambda():
    f = lambda n: f(n + 1)
    try:
        f(0)
    except RecursionError as e:
        return len(str(e)) > 10


class Deep:
    n = 0

    def __getattr__(self, name):
        Deep.n += 1
        return getattr(self, name + "x")

    def __repr__(self):
        Deep.n += 1
        return repr(self)


def by_getattr():
    try:
        Deep().a
    except RecursionError:
        n, Deep.n = Deep.n, 0
        return n


def by_repr():
    try:
        repr(Deep())
    except RecursionError:
        n, Deep.n = Deep.n, 0
        return n


def gens(n):
    yield n
    yield from gens(n + 1)


def by_gens():
    last = 0
    try:
        for last in gens(0):
            pass
    except RecursionError:
        return last


print(plain(0), through_lambda(), by_getattr(), by_repr(), by_gens())
sys.setrecursionlimit(300)
print(plain(0), by_getattr(), by_repr(), by_gens())
for _ in range(50):
    plain(0)
print(plain(0))


def nest(n):
    return [nest(n - 1)] if n else []


try:
    json.dumps(nest(250))
    nest(400)
except RecursionError as e:
    print(e)
def boom(n):
    return boom(n + 1) + 1


boom(0)
