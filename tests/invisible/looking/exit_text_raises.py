import sys


class Reason:
    def __str__(self):
        raise ValueError("no reason")


sys.exit(Reason())
