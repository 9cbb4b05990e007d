"""`watch()` and `install()` on Python 3.11 put marks into what runs already; a tracer is for what cannot have them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from tests.warm import python

from afterward.observe.marks.importing import exchange

pytestmark = pytest.mark.skipif(exchange is None, reason="for Python 3.11")

HEAD = """
import sys
import torch
import afterward

def step(h, w):
    y = torch.tanh(w * h + 1)
    return y

def own(function):
    return function.__code__
"""


def run(folder: Path, source: str) -> list[str]:
    (folder / "program.py").write_text(HEAD + dedent(source))
    done = python("program.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().splitlines()


def test_what_runs_gets_marks_and_gives_them_back(tmp_path: Path) -> None:
    """In a process of its own: a call that waits in C, as a test runner's does, keeps the tracer on."""
    program = tmp_path / "program.py"
    program.write_text(
        HEAD
        + dedent("""
        before = own(step)
        def work():
            with afterward.watch() as watch:
                h, w = torch.zeros(2), torch.ones(2, requires_grad=True)
                for i in range(3):
                    h = step(h, w).detach()
                print(sys.gettrace(), own(step) is before)
                print(sum(i for i in range(4)), own(lambda: h).co_freevars)
            print(sys.gettrace(), own(step) is before)
        work()
        """)
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["None False", "6 ('h',)", "None True"]


@pytest.mark.parametrize("loop", ["for i in range(4)", "while True"])
def test_a_call_that_takes_them_within_a_loop_is_in_the_same_iteration(tmp_path: Path, loop: str) -> None:
    said = run(
        tmp_path,
        f"""
        def work(watch):
            h, w, i = torch.zeros(2), torch.ones(2, requires_grad=True), 0
            try:
                with watch:
                    {loop}:
                        h = h * w
                        if i > 0:
                            h = step(h, w)  # from here on there are marks
                        h.sum().backward()
                        i += 1
            except RuntimeError:
                finding, = watch.report().findings
                print(finding.code, finding.bridge.name, finding.built.step, finding.freed.step, finding.reused.step)
                print(finding.built.line - work.__code__.co_firstlineno, finding.reused.line - finding.built.line)
        work(afterward.watch())
        """,
    )
    assert said[0] == "AFT103 h 1 1 2"
    assert said[1] == "5 3"


def test_a_stack_of_calls_and_an_exception_through_them(tmp_path: Path) -> None:
    """Locals, cells, loops, `with` and `finally` of calls that took other code are as they were."""
    said = run(
        tmp_path,
        """
        from contextlib import contextmanager
        log = []

        @contextmanager
        def around(name):
            log.append("in " + name)
            yield name
            log.append("out " + name)

        def inner(depth, h):
            total = [h]
            def add(more):
                total.append(more)
                return len(total)
            with around(f"d{depth}") as name:
                try:
                    for one in (1, 2):
                        if depth:
                            h = inner(depth - 1, h) + one
                        elif one == 1:
                            afterward.install()
                        add(one)
                    return (h + len(total)
                            + add(3))
                finally:
                    log.append(f"{name} {total} {one}")

        print(inner(2, 1))
        print(log)
        def fails(depth):
            try:
                return fails(depth - 1) if depth else [][depth]
            except IndexError as error:
                if depth == 2:
                    lines, trace = [], error.__traceback__
                    while trace:
                        lines.append(trace.tb_lineno - fails.__code__.co_firstlineno)
                        trace = trace.tb_next
                    return lines
                raise
        print(fails(2))
        """,
    )
    plain = run(
        tmp_path, (tmp_path / "program.py").read_text().removeprefix(HEAD).replace("afterward.install()", "print")
    )
    assert said == plain


def test_generators_that_were_left_are_told_of_by_the_tracer(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
        def training(w):
            state = torch.zeros(2)
            for i in range(4):
                yield i
                state = torch.tanh(w + state)
                state.sum().backward()
        steps = training(torch.ones(2, requires_grad=True))
        next(steps)
        watch = afterward.install()
        print(sys.gettrace() is not None)
        step(torch.zeros(1), torch.ones(1))
        try:
            list(steps)
        except RuntimeError:
            finding, = watch.report().findings
            print(finding.code, finding.bridge.name, finding.reused.line - training.__code__.co_firstlineno)
        """,
    )
    assert said == ["True", "AFT103 state 5"]


def test_a_file_that_was_changed_keeps_its_code(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
        before = own(step)
        with open(__file__) as file:
            text = file.read()
        with open(__file__, "w") as file:
            file.write("\\n\\n" + text)
        afterward.install()
        print(own(step) is before, sys.gettrace() is not None, step(torch.zeros(1), torch.ones(1)).item() > 0)
        """,
    )
    assert said == ["True True True"]


def test_modules_that_come_later_get_marks(tmp_path: Path) -> None:
    (tmp_path / "later.py").write_text("def f(x):\n    y = x * 2\n    return y\n")
    said = run(
        tmp_path,
        """
        afterward.install()
        import later
        from afterward.observe.marks.marking import is_mark
        print(any(map(is_mark, later.f.__code__.co_consts)), later.f(2))
        """,
    )
    assert said == ["True 4"]
