"""threading.excepthook, thread-local state, a daemon that dies at exit, sys._current_frames, exceptions through executors."""
import concurrent.futures
import sys
import threading
import traceback

seen = []
threading.excepthook = lambda a: seen.append((a.exc_type.__name__, str(a.exc_value), [f.name for f in traceback.extract_tb(a.exc_traceback)], a.thread.name))


def deep(n):
    if n:
        return deep(n - 1)
    raise LookupError("deep")


t = threading.Thread(target=deep, args=(2,), name="T")
t.start()
t.join()
print(seen)
ready, go = threading.Event(), threading.Event()


def parked():
    ready.set()
    go.wait()


p = threading.Thread(target=parked, name="parked")
p.start()
ready.wait()
frames = sys._current_frames()
print(len(frames), [f.name for f in traceback.extract_stack(frames[threading.get_ident()])])
print([f.name for f in traceback.extract_stack(frames[p.ident])][-3:] and "parked" in [f.name for f in traceback.extract_stack(frames[p.ident])])
go.set()
p.join()
with concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="pool") as ex:
    f = ex.submit(deep, 1)
    try:
        f.result()
    except LookupError as e:
        print([x.name for x in traceback.extract_tb(e.__traceback__)][-2:])
threading.excepthook = threading.__excepthook__
t = threading.Thread(target=deep, args=(1,), name="T2")
t.start()
t.join()
d = threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True)
d.start()
deep(1)
