"""doctest of a module on disk, with failures; the trace module's counts; timeit; code.interact; pdb.post_mortem by commands."""
import code
import doctest
import io
import pathlib
import pdb
import sys
import timeit
import trace

pathlib.Path("documented.py").write_text('def add(a, b):\n    """\n    >>> add(1, 2)\n    3\n    >>> add(1, 1)\n    3\n    >>> add("a", 1)\n    Traceback (most recent call last):\n    TypeError: can only concatenate str (not "int") to str\n    """\n    return a + b\n')
import documented

print(doctest.testmod(documented))
tracer = trace.Trace(count=1, trace=0, ignoredirs=[sys.prefix, sys.exec_prefix])
tracer.runfunc(lambda: [documented.add(i, i) for i in range(5)])
print(sorted((pathlib.Path(f).name, l, n) for (f, l), n in tracer.results().counts.items()))
print(timeit.timeit("f(1)", globals={"f": lambda x: x}, number=10) < 1)
out = io.StringIO()
console = code.InteractiveConsole({"documented": documented})
for line in ("x = documented.add(1, 2)", "print(x)", "documented.add(1)"):
    console.push(line)
try:
    documented.add(None, 1)
except TypeError as e:
    p = pdb.Pdb(stdin=io.StringIO("w\nu\nl\np sorted(locals())[:3]\nq\n"), stdout=sys.stdout)
    p.reset()
    p.interaction(None, e.__traceback__)
