import marshal
import types


def f(x):
    y = [i * x for i in range(3)]
    return y


plain = compile("def f(x):\n    y = [i * x for i in range(3)]\n    return y\n", __file__, "exec")
print(len(marshal.dumps(f.__code__)), len(marshal.dumps(plain)))
again = marshal.loads(marshal.dumps(f.__code__))
print(
    again == f.__code__,
    hash(again) == hash(f.__code__),
    types.FunctionType(again, {})(2),
    again.co_code == f.__code__.co_code,
)
