import sys

seen = []
sys.addaudithook(lambda event, args: seen.append(event) if recording else None)
recording = True


def f(x):
    y = x + 1
    return y


for i in range(3000):
    f(i)
exec("z = f(1)")
compile("1 + 1", "<own>", "eval")
open(__file__).close()
recording = False
print(seen)
