"""Functions that travel by value arrive without marks: where they arrive nobody knows these."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.observe.marks.importing import marked_code
from afterward.observe.marks.pickling import plain_code
from afterward.observe.marks.statements import Statements

SOURCE = """
def make(n):
    def inner(a):
        for _ in range(3):
            n + a
        return n + a
    return inner

class Worker:
    def run(self):
        return [x for x in (1, 2)]
"""


def test_plain_code_is_what_python_compiles() -> None:
    marked = marked_code(SOURCE.encode(), "some.py", statements := Statements(), lambda what: None)
    plain = compile(SOURCE, "some.py", "exec", dont_inherit=True)

    def functions(code):
        return {c.co_name: c for c in code.co_consts if hasattr(c, "co_code")}

    assert functions(marked)["make"] != functions(plain)["make"]
    assert plain_code(functions(marked)["make"], statements) == functions(plain)["make"]
    assert plain_code(functions(plain)["make"], statements) is functions(plain)["make"]
    inner = functions(functions(marked)["make"])["inner"]
    assert plain_code(inner, statements) == functions(functions(plain)["make"])["inner"]
    # What the two share a pickler writes once.
    assert plain_code(inner, statements) is functions(plain_code(functions(marked)["make"], statements))["inner"]


def test_a_function_by_value_runs_where_afterward_is_not(tmp_path: Path, torch_as_it_was: None) -> None:
    pytest.importorskip("cloudpickle")
    source = SOURCE + "import cloudpickle\nsent = cloudpickle.dumps(make(40))\n"
    seen = watch_source(source, tmp_path)
    assert seen.error is None
    (tmp_path / "sent.pickle").write_bytes(seen.names["sent"])
    there = "import pickle; print(pickle.load(open('sent.pickle', 'rb'))(2))"
    done = subprocess.run([sys.executable, "-c", there], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("42\n", "")
