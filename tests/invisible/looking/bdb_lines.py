import bdb


class Debugger(bdb.Bdb):
    log = []

    def user_line(self, frame):
        if frame.f_code.co_filename == __file__:
            self.log.append((frame.f_code.co_name, frame.f_lineno))
        self.set_step()

    def user_exception(self, frame, info):
        self.log.append(("exception", info[0].__name__))


def target(n):
    total = 0
    for i in range(n):
        try:
            total += 10 // i
        except ZeroDivisionError:
            total = -1
    return total


for _ in range(2_000):
    target(3)
debugger = Debugger()
debugger.runcall(target, 3)
print(debugger.log)
