import sys


def f(a, *rest, key=None):
    def inner():
        return a

    b = [sys._getframe().f_locals is not None, sorted(locals())]
    sys._getframe().f_locals["b"] = "changed"
    names = sys._getframe().f_code.co_cellvars, sys._getframe().f_code.co_varnames
    del rest
    return b, names, sorted(locals()), inner(), vars().keys() == locals().keys()


print(f(1, 2))
print(sorted(k for k in locals() if not k.startswith("__")), globals() is locals())
x = 1
exec("x = 2")
print(x, [k for k in dir() if k == "x"])
