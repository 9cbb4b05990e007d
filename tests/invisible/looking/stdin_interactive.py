import code
import sys

console = code.InteractiveConsole({"__name__": "__console__"})
for line in ("x = 2", "x * 21", "def f():", "    return x / 0", "", "f()"):
    console.push(line)
print(input("prompt> "), sys.stdin.readline().strip(), sys.stdin.isatty())
print(eval(input()))
