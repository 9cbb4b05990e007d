"""What needs no torch, on whatever Python runs this: `check` on programs, and the rewriting of source.

Prints one line of JSON: what `check` finds in each program, how many files could be compiled with marks, and how many
plain programs print the same with and without them. `tools/torch_free.mjs` runs it on Python 3.14 too and compares.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

from afterward.observe.marks.importing import marked_code
from afterward.observe.marks.program import run_program
from afterward.observe.marks.statements import Statements
from afterward.tasks.check_file import Shared, check_bytes

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "tests" / "cases").glob("*/buggy.py"))[::4]
NO_THREADS = "can't start new thread"  # generators are followed in threads, and WebAssembly has none
_TEXT = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print([fib(n) for n in range(12)])
---
import functools
@functools.lru_cache
def f(x): return x * 2
for i in range(3):
    print(f(i), end=' ')
else:
    print()
---
class A:
    x: int = 1
    def __enter__(self): return self
    def __exit__(self, *e): return True
with A() as a:
    print(a.x)
    1 / 0
---
def g():
    try:
        got = yield 1
        print(got)
    finally:
        print('end')
it = g(); next(it)
try:
    it.send(2)
except StopIteration:
    pass
---
import asyncio
async def main():
    async with asyncio.Lock():
        return [i async for i in go()]
async def go():
    for i in range(3):
        yield i
try:
    print(main().send(None))
except StopIteration as e:
    print(e.value)
---
match {'a': [1, 2]}:
    case {'a': [x, *rest]} if x:
        print(x, rest)
    case _:
        print('none')
---
try:
    raise ValueError('x')
except (ValueError, TypeError) as e:
    print(type(e), e.__traceback__.tb_lineno)
---
n = 0
while True:
    n += 1
    if n % 2: continue
    if n > 6: break
print(n, (lambda a, /, b=2, *, c: a + b + c)(1, c=3))
"""
PLAIN = _TEXT.split("---\n")


def main() -> None:
    found = {}
    for path in PROGRAMS:
        checked = check_bytes("train.py", path.read_bytes(), Shared(), alone=True)
        needs = any(NO_THREADS in str(gap) for gap in checked.gaps)
        codes = [f"{one.code}:{one.primary.site.line}" for one in checked.findings]
        found[path.parent.name] = None if needs else codes
    files = sorted((ROOT / "src").rglob("*.py"))
    gaps: list[str] = []
    for path in files:
        marked_code(path.read_bytes(), str(path), Statements(), gaps.append)
    same = sum(_printed(text, marked=True) == _printed(text, marked=False) for text in PLAIN)
    result = {"found": found, "marked": len(files), "gaps": gaps, "same": same, "of": len(PLAIN)}
    print(json.dumps({"python": list(sys.version_info[:2]), **result}))


def _printed(text: str, *, marked: bool) -> str:
    path = Path("plain_program.py")
    path.write_text(text, encoding="utf-8")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if marked:
            error = run_program(str(path), [], as_module=False, statements=Statements(), on_gap=print)
            out.write(repr(error))
        else:
            exec(compile(text, str(path), "exec"), {"__name__": "__main__"})
            out.write("None")
    path.unlink()
    return out.getvalue()


if __name__ == "__main__":
    main()
