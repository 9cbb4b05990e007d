import sys
import threading


def leave():
    sys.exit(3)


t = threading.Thread(target=leave)
t.start()
t.join()
try:
    try:
        sys.exit(4)
    finally:
        print("finally", sys.exc_info()[0])
except SystemExit as e:
    print("caught", e.code)
    raise SystemExit(e.code + 1) from None
