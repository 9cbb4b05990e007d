"""Reads stdin by input(), readline, iteration and the file descriptor; asks whether it is a terminal."""
import os
import select
import sys

print(sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(), sys.stdin.encoding, sys.stdin.fileno(), sys.stdout.line_buffering)
print(repr(input("name? ")))
print(repr(sys.stdin.readline()))
for line in sys.stdin:
    print(repr(line))
    break
print(repr(sys.stdin.read()), os.read(0, 10), select.select([0], [], [], 0)[0])
try:
    input()
except EOFError as e:
    print("eof", e)
print(os.isatty(0), os.ctermid(), sys.stdin.buffer.read(), sys.__stdin__ is sys.stdin, sys.stdin.name, sys.stdout.name, sys.stdout.errors, sys.stderr.errors)
try:
    print(os.get_terminal_size())
except OSError as e:
    print(e)
sys.stdin.close()
print(input("again? "))
