"""An interval timer that strikes thousands of times in plain code; the handler notes where."""
import signal
import sys

hits = []


def handler(num, frame):
    hits.append((frame.f_code.co_name, frame.f_code.co_filename == __file__))


signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)


def spin():
    n = 0
    while len(hits) < 400:
        n += 1
        x = [i for i in range(10)]
        y = sum(x)
    return y


print(spin())
signal.setitimer(signal.ITIMER_REAL, 0)
print({mine for _, mine in hits}, signal.getsignal(signal.SIGALRM) is handler)


class Stop(Exception):
    pass


def raising(num, frame):
    raise Stop(frame.f_code.co_name)


signal.signal(signal.SIGALRM, raising)
n = 0
for attempt in range(30):
    signal.setitimer(signal.ITIMER_REAL, 0.003)
    try:
        while True:
            for i in range(100):
                n += i
    except Stop as stop:
        assert stop.args == ("<module>",)
        assert stop.__context__ is None
        tb = stop.__traceback__
        assert tb.tb_next.tb_frame.f_code is raising.__code__ and tb.tb_next.tb_next is None, "frames"
print("done")
