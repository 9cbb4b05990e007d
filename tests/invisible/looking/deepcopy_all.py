import copy
import types


def f(x, acc=[]):
    acc.append(x)
    return acc


g = types.FunctionType(f.__code__, f.__globals__, "g", f.__defaults__, f.__closure__)
h = copy.deepcopy(f)
print(h is f, g(1), f(2), copy.copy(f) is f, g.__code__ is f.__code__)
print(f.__code__.replace(co_firstlineno=1).co_firstlineno, f.__defaults__, f.__kwdefaults__)
f.__code__ = (lambda x, acc=None: ("new", x)).__code__
print(f(3), [f(i)[0] for i in range(2)])


class P:
    def __init__(self):
        self.f = lambda: self

    def __deepcopy__(self, memo):
        return P()


print(copy.deepcopy([P(), P()])[0].f().__class__.__name__)
