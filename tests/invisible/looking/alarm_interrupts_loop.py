import signal

struck = []


def handler(number, frame):
    struck.append((frame.f_code.co_name, frame.f_locals.get("x")))
    if len(struck) == 20:
        raise TimeoutError("enough")


def spin():
    x = 1
    while True:
        for _ in range(100):
            x = 1
    return x


signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
try:
    spin()
except TimeoutError as e:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(e, set(struck), e.__context__)
