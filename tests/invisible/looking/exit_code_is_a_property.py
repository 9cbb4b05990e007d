import sys


class Told(SystemExit):
    @property
    def code(self):
        frame, depth = sys._getframe(), 0
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        print("asked for the code, frames:", depth)
        return Reason()


class Reason:
    def __str__(self):
        frame, depth = sys._getframe(), 0
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        print("asked for the text, frames:", depth)
        return "the reason"


class Stream:
    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        self.stream.write(f"<{text!r}>")

    def flush(self):
        self.stream.flush()


sys.stderr = Stream(sys.stderr)
raise Told
