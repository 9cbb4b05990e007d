import traceback


def f(x):
    try:
        return {
            "a": 1,
            "b": x.missing,
        }
    finally:
        traceback.print_stack(limit=2)


class C:
    def __getattr__(self, name):
        raise AttributeError(f"no {name}", name=name, obj=self)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        print("exit", exc[0].__name__, exc[2].tb_lineno)


with C() as c:
    f(c)
