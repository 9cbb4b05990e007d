def f(a, b):
    return a[0]["x"] + (b.c.d.e)


def g():
    return [f(i, None) for i in ([{"x": 1}],)]


g()
