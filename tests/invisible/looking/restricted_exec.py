SOURCE = """
def f(n):
    total = 0
    for i in range_(n):
        total += i
    return total
result = f(1000)
class A:
    x = 1
    def m(self): return self.x
"""
for builtins in ({}, {"__build_class__": __build_class__}, {"abs": abs}):
    space = {"__builtins__": builtins, "range_": range, "__name__": "boxed"}
    try:
        exec(SOURCE, space)
        print(space["result"], sorted(space))
    except Exception as e:
        print(type(e).__name__, e)


def plain(x):
    y = x * 2
    return y


boxed = type(plain)(plain.__code__, {"__builtins__": {}})
print([boxed(i) for i in range(3)], eval("plain(4)", {"plain": plain, "__builtins__": None}))
exec(
    plain.__code__.replace(co_argcount=0, co_varnames=("x", "y")) if False else "print(sorted(locals()))", {}, {"a": 1}
)
