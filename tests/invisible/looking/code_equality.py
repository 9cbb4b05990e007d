def a(x):
    y = x + 1
    return y


def make():
    def b(x):
        y = x + 1
        return y

    return b


first, second = make(), make()
print(first.__code__ is second.__code__, a.__code__ == first.__code__, a.__code__.co_code == first.__code__.co_code)
for i in range(3000):
    first(i)
print(
    first.__code__ is second.__code__, a.__code__.co_code == first.__code__.co_code, first.__code__ == second.__code__
)
source = open(__file__).read()
compiled = compile(source, __file__, "exec", dont_inherit=True)
mine = next(c for c in compiled.co_consts if hasattr(c, "co_name") and c.co_name == "a")
print(
    mine == a.__code__,
    mine.co_code == a.__code__.co_code,
    mine.co_consts == a.__code__.co_consts,
    mine.co_names == a.__code__.co_names,
)
