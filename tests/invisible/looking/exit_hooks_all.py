"""Order of everything that runs at the end."""
import atexit
import sys
import threading
import weakref


class Thing:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name, sys is not None, sys.is_finalizing() if sys else None, flush=True)


atexit.register(print, "atexit first")
threading._register_atexit(print, "threading atexit")
module_level = Thing("module")
finalized = Thing("finalized")
weakref.finalize(finalized, print, "finalize")


def last():
    print("atexit last", threading.active_count(), [t.name for t in threading.enumerate()])
    sys.exit(9)


atexit.register(last)


class Stream:
    def write(self, text):
        sys.__stdout__.write("S:" + text)

    def flush(self):
        sys.__stdout__.write("[flush]")


sys.stdout = Stream()
threading.Thread(target=lambda: (threading.Event().wait(0.2), print("late thread")), name="late").start()
print("main ends")
raise SystemExit(3)
