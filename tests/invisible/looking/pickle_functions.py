import pickle
import pickletools


def f(x):
    return x + 1


class Model:
    def __init__(self):
        self.fn = f

    def __reduce__(self):
        return (Model, ())


data = pickle.dumps([f, Model(), Model.__init__, print])
print(pickle.loads(data)[0](1), len(data))
pickletools.dis(data)
try:
    pickle.dumps(lambda x: x)
except Exception as e:
    print(type(e).__name__, e)
