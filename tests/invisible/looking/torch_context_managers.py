import contextlib, torch, sys, inspect, types
@contextlib.contextmanager
def phase(n):
    print("in", n, sys._getframe(2).f_lineno)
    try: yield n
    except RuntimeError as e: print("seen", str(e)[:20], [t.name for t in __import__("traceback").extract_tb(e.__traceback__)]); raise
    finally: print("out", n)
x = torch.ones(2, requires_grad=True)
def batches():
    for i in range(3):
        y = yield x * i
        print("got", y)
g = batches(); v = next(g)
while True:
    try:
        v.sum().backward(); v = g.send(float(v.sum()))
    except StopIteration: break
print(inspect.getgeneratorstate(g), g.gi_frame)
with contextlib.suppress(RuntimeError), phase("a"):
    l = (x * x).sum(); l.backward(); l.backward()
with contextlib.ExitStack() as s:
    s.callback(print, "cb"); s.enter_context(phase("b")); s.push(lambda *e: print("push", e[0]))
    (x ** 2).sum().backward()
with torch.enable_grad(), torch.autograd.set_detect_anomaly(False), torch.autograd.graph.save_on_cpu(), phase("c") as q:
    (x.exp() * x).sum().backward(); print(q)
@torch.no_grad()
def ev(m): return m(x)
print(ev(torch.nn.Linear(2, 1)).requires_grad, ev.__name__, inspect.signature(ev), ev.__wrapped__.__code__.co_name)
