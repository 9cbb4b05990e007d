import sys


def depth(n=0):
    try:
        return depth(n + 1)
    except RecursionError:
        return n


class Node:
    def __init__(self, child=None):
        self.child = child

    def __repr__(self):
        return f"<{self.child!r}>"


print(depth())
sys.setrecursionlimit(120)
print(depth())
node = Node()
for _ in range(500):
    node = Node(node)
try:
    repr(node)
except RecursionError as e:
    print(str(e)[:40], sum(1 for _ in iter_frames(e)) if "iter_frames" in globals() else "")
sys.setrecursionlimit(1000)
print(depth())
