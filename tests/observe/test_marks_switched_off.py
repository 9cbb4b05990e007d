"""In plain Python code marks are switched off in place; what is made of torch's nodes stays exact."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.watching import Seen, watch_source

from afterward.observe.marks import marking
from afterward.observe.marks.marking import Mark, marking_of

needs_c = pytest.mark.skipif(marking._tape is None, reason="no compiler was at hand when afterward was installed")


def _lines(seen: Seen) -> dict[str, list[int]]:
    """The lines, from the outermost call down, that made each operation of the failing graph."""
    (history,) = seen.session.histories
    return {
        node.op.removesuffix("Backward0"): [level.site.line for level in node.where.levels]
        for node in history.nodes
        if node.where
    }


@needs_c
def test_marks_of_plain_python_are_switched_off_and_on_again(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(
        """\
def total(n):
    found = 0
    for i in range(n):
        found += i % 7
    return found
total(50_000)
off = count()
w = torch.ones(2, requires_grad=True)
y = w * 2
on = count()
""".replace("count()", "__import__('tests.observe.test_marks_switched_off').observe.test_marks_switched_off.count()"),
        tmp_path,
    )
    assert seen.error is None
    assert seen.names["off"] > 0
    assert seen.names["on"] == 0


def count() -> int:
    """How many marks of the program that is calling are off."""
    marks = [one for one in sys._getframe(1).f_code.co_consts if type(one) is Mark]
    (using,) = marking._in_use
    assert marks
    return int(using.board.off())


@needs_c
def test_a_mark_that_is_off_keeps_no_code_alive(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(
        """\
import gc, sys, types
def total(n):
    found = 0
    for i in range(n):
        found += i % 7
    return found
before = sys.getrefcount(total.__code__)
total(50_000)
same = before == sys.getrefcount(total.__code__)
copy = types.FunctionType(total.__code__.replace(co_name="copy"), globals())
del total
gc.collect()
y = (torch.ones(2, requires_grad=True) * copy(50_000)).sum()
""",
        tmp_path,
    )
    assert seen.error is None
    assert seen.names["same"]
    assert seen.names["y"].item() == 2 * sum(i % 7 for i in range(50_000))


@needs_c
def test_a_call_that_was_not_written_down_is_found_when_it_matters(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(
        """\
w = torch.ones(2, requires_grad=True)
def scaled(x, late):
    if late:
        x = torch.exp(x)
    return x
def turn(i):
    value = 0
    value = scaled(
        w, i == 19_999)
    return value
for i in range(20_000):
    out = turn(i)
loss = torch.sin(out).sum()
loss.backward()
loss.backward()
""",
        tmp_path,
    )
    lines = _lines(seen)
    assert lines["Exp"] == [12, 8, 4]
    assert lines["Sin"] == [13]


@needs_c
def test_steps_are_counted_after_a_stretch_of_plain_python(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(
        """\
w = torch.ones(2, requires_grad=True)
state = torch.zeros(2)
for step in range(4):
    for i in range(20_000):
        waste = i * i
    state = torch.tanh(w + state)
    state.sum().backward()
""",
        tmp_path,
    )
    (finding,) = seen.findings
    assert (finding.freed.step, finding.reused.step) == (1, 2)


_IN_A_FUNCTION = """\
import threading
def plain(n):
    for i in range(n):
        waste = i * i
        waste += 1
def train(n, work):
    w, state = torch.ones(2, requires_grad=True), torch.zeros(2)
    for step in range(4):
        work(n)
        for i in range(n):
            waste = i * i
            waste += 1
        state = torch.tanh(w + state)
        loss = state.sum()
        loss.backward()
def in_a_thread(n):
    one = threading.Thread(target=plain, args=(20_000,))
    one.start()
    one.join()
"""


@needs_c
@pytest.mark.parametrize("work", ["plain", "in_a_thread"])
@pytest.mark.parametrize("count", [0, 60, 20_000])
def test_steps_are_counted_in_a_function_too(count: int, work: str, tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(f"{_IN_A_FUNCTION}train({count}, {work})\n", tmp_path)
    (finding,) = seen.findings
    assert (finding.code, finding.built.line, finding.freed.step, finding.reused.step) == ("AFT103", 13, 1, 2)


@pytest.mark.parametrize("work", ["plain", "in_a_thread"])
@pytest.mark.parametrize("count", [0, 60, 2_000])
def test_and_where_only_lines_are_seen(count: int, work: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, afterward\n"
        + _IN_A_FUNCTION
        + "with afterward.watch() as run:\n    try:\n        "
        + f"train({count}, {work})\n    except RuntimeError:\n        pass\n"
        + "one, = run.report().findings\nprint(one.code, one.built.line, one.freed.step, one.reused.step)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["AFT103", "14", "1", "2"]


@needs_c
@pytest.mark.parametrize(
    "body",
    [
        "try:\n        x = i // (i % 5)\n    except ZeroDivisionError:\n        x = -1\n    finally:\n        log(x)",
        "with nothing():\n        x = (lambda a: abs(a) + 1)(i)\n    log(x)",
        "x = list(gen(3))\n    log(len(x))",
        "if i % 3 == 0:\n        continue\n    elif i % 1000 == 999:\n        log(i)\n    x = depth(i % 6)\n    log(x)",
        "x = sum(a for a in (1, i) if a)\n    class C:\n        y = x\n    log(C.y)",
        "match i % 3:\n        case 0:\n            x = 'a'\n        case _:\n            x = 'c'\n    log(x)",
    ],
)
def test_code_computes_the_same_with_marks_off_and_on(body: str, tmp_path: Path, torch_as_it_was: None) -> None:
    source = f"""\
import contextlib
logged = []
log = logged.append
@contextlib.contextmanager
def nothing():
    yield
def gen(n):
    for k in range(n):
        got = yield k
def depth(n):
    if n == 0:
        return 0
    return 1 + depth(n - 1)
for i in range(5000):
    if i % 1700 == 1600 and touch is not None:
        touch = touch * 1.0
    {body}
"""
    plain: dict[str, object] = {"touch": None}
    exec(compile(source, "plain.py", "exec"), plain)
    seen = watch_source("touch = torch.ones(1, requires_grad=True)\n" + source, tmp_path)
    assert seen.error is None
    assert seen.names["logged"] == plain["logged"]


def test_no_name_of_a_mark_is_looked_up(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source("def f():\n    x = abs(1)\n    return x\nf()\n", tmp_path)
    code = seen.names["f"].__code__
    assert code.co_names == ("abs",)
    assert marking_of(seen.session.recorders.statements) is not None
