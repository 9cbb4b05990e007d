import sys
import threading

print([t.name for t in threading.enumerate()], threading.active_count(), len(sys._current_frames()))
results = []
local = threading.local()


def work(n):
    local.total = 0
    for i in range(n):
        local.total += i
    results.append((threading.current_thread().name, local.total, sys.gettrace(), sys.getprofile()))


threads = [threading.Thread(target=work, args=(i * 10,), name=f"w{i}") for i in range(40)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sorted(results), hasattr(local, "total"))
threading.excepthook = lambda a: print("hook", a.exc_type.__name__, a.exc_traceback.tb_next.tb_lineno)
t = threading.Thread(target=lambda: 1 / 0)
t.start()
t.join()
