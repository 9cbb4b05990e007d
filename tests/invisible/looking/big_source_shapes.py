"""Odd source: very long lines, many statements on a line, deep nesting, unicode names, line continuations, form feeds, decorators on many lines."""
import sys
import traceback

a = 1; b = 2; c = a + b; print(a, b, c); d = [a, b,
   c]; print(sys._getframe().f_lineno)
ﬁeld = 3
print(field, "ﬁeld" in globals(), "field" in globals())
größe = lambda λ: λ \
    + 1
print(größe(1), größe.__name__, größe.__code__.co_varnames)

def deco(f):
    print("deco at", sys._getframe(1).f_lineno)
    return f

@deco
@deco
def \
    spread(
        a=(print("default at", sys._getframe().f_lineno), 1)[1],
        *,
        b: print("annotation at", sys._getframe().f_lineno) = 2,
    ):
    return (
        a
        +
        sys._getframe().f_lineno
    )
print(spread(), spread.__code__.co_firstlineno)
x = (1 if
     a else
     2); y = {**{"k": sys._getframe().f_lineno}, "l":
     sys._getframe().f_lineno}; print(x, y)
exec("total = 0\n" + "".join(f"total += {i}\n" for i in range(3000)) + "print(total)")
exec("if 1:\n" + "".join(" " * (i + 1) + "if 1:\n" for i in range(18)) + " " * 20 + "print('deep')")
print(eval("+".join(["1"] * 900)))
if True: pass
else: print("never")
for i in range(2): print(i); continue
while False: pass
else: print("else at", sys._getframe().f_lineno)
try: [][
    0
]
except IndexError: traceback.print_exc(file=sys.stdout)
class A: x = 1; y: int = 2; print(sorted(k for k in locals() if not k.startswith("_")))
print(A.__annotations__, f"{(lambda: sys._getframe().f_lineno)()} {[i for i in
    range(2)]}" if False else "")
