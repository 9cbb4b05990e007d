"""Marks name the right statement, call and turn for every node."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests import tool, warm
from tests.watching import Seen, watch_source

from afterward.observe import compat
from afterward.observe.marks.importing import marked_code
from afterward.observe.marks.statements import Statements


def _broken(seen: Seen):
    (history,) = seen.session.histories
    (late,) = history.broken_passes()
    return history, late


def _lines(seen: Seen) -> dict[str, int]:
    """The line that made each operation of the failing graph."""
    history, _ = _broken(seen)
    return {node.op.removesuffix("Backward0"): node.where.site.line for node in history.nodes if node.where}


def test_each_node_belongs_to_the_statement_that_made_it(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(
        """\
w = torch.ones(2, requires_grad=True)
def scaled(x):
    y = torch.sin(x)
    return torch.exp(y)
a = scaled(w) * 1.5
b = torch.cosh(
    a
)
if True: c = torch.tanh(b)
loss = sum(torch.sigmoid(v) for v in [c]).sum()
loss.backward()
loss.backward()
""",
        tmp_path,
    )
    lines = _lines(seen)
    assert lines["Sin"] == 3
    assert lines["Exp"] == 4
    assert lines["Mul"] == 5  # made after the call had returned, by the calling statement
    assert lines["Cosh"] == 6
    assert lines["Tanh"] == 9
    assert lines["Sigmoid"] == 10


@pytest.mark.parametrize(
    "kind",
    [
        "for",
        "while",
        "forever",
        "generator",
        "closure",
        "recursion",
        "exception",
        "continue",
        "a loop first",
        "own range",
    ],
)
def test_steps_are_counted(kind: str, tmp_path: Path, torch_as_it_was: None) -> None:
    loops = {
        "for": "for i in range(4):\n    step()",
        "while": "i = 0\nwhile i < 4:\n    i += 1\n    step()",
        "generator": "def turns():\n    for i in range(4):\n        step()\n        yield i\nlist(turns())",
        "closure": "def outer():\n    def inner():\n        step()\n    for i in range(4):\n        inner()\nouter()",
        "recursion": "def again(n):\n    for i in range(1):\n        pass\n    if n:\n        again(n - 1)\n"
        "for i in range(4):\n    again(3)\n    step()",
        "exception": "def fail():\n    for i in range(3):\n        if i == 1:\n            raise KeyError\n"
        "for i in range(4):\n    try:\n        fail()\n    except KeyError:\n        pass\n    step()",
        "forever": "i = 0\nwhile True:\n    i += 1\n    step()\n    if i == 4:\n        break",
        "a loop first": "for i in range(4):\n    for j in range(2):\n        pass\n    step()",
        "own range": "def range(n):\n    while n:\n        n -= 1\n        yield n\nfor i in range(4):\n    step()",
        "continue": "for i in range(8):\n    if i % 2:\n        continue\n    step()",
    }
    source = f"""
w = torch.ones(2, requires_grad=True)
state = [torch.zeros(2)]
count = 0
def step():
    global count
    count += 1
    if count == 3:
        state[0] = torch.tanh(w + state[0])
        state[0].sum().backward()
    elif count == 4:
        state[0] = torch.tanh(w + state[0])
        state[0].sum().backward()
{loops[kind]}
"""
    seen = watch_source(source, tmp_path)
    (finding,) = seen.findings
    expected = {"continue": (5, 7)}.get(kind, (3, 4))
    assert (finding.freed.step, finding.reused.step) == expected


def test_what_a_range_of_ones_own_builds_belongs_to_the_head_of_the_loop(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(
        """
w = torch.ones(2, requires_grad=True)
def range(n):
    while n:
        n -= 1
        yield torch.exp(w)
for x in range(2):
    loss = torch.sin(x).sum()
    loss.backward()
loss.backward()
""",
        tmp_path,
    )
    history, _ = _broken(seen)
    (where,) = [node.where for node in history.nodes if node.op == "ExpBackward0"]
    assert where is not None
    assert [level.site.line for level in where.levels] == [7, 6]


def test_nodes_in_a_loop_head_are_outside_of_the_loop(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(
        """
w = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for part in torch.exp(w).split(2):
    part.sum().backward()
    optimizer.step()
""",
        tmp_path,
    )
    (finding,) = seen.findings
    assert finding.built.line == 4
    assert finding.built.step is None


def test_a_large_graph_is_examined_without_recursion(tmp_path: Path) -> None:
    """In a process of its own, as a user meets it: 40,000 nodes in one chain, and the exit status is Python's."""
    (tmp_path / "deep.py").write_text(
        """\
import torch
w = torch.ones(2, requires_grad=True)
value = w
for _ in range(20_000):
    value = torch.sin(value) * 1.0
loss = value.sum()
loss.backward()
loss.backward()
"""
    )
    done = warm.afterward("run", "deep.py", cwd=tmp_path)
    assert done.returncode == 1
    assert "error[AFT101]" in done.stderr
    assert "40,001 nodes" in done.stderr


def test_old_marks_are_folded_and_rare_statements_kept(tmp_path: Path, monkeypatch, torch_as_it_was: None) -> None:
    from afterward.observe.marks.tape import MARKS
    from afterward.observe.recording import recorder

    monkeypatch.setattr(recorder, "MARK_LIMIT", 400)
    seen = watch_source(
        """
w = torch.ones(2, requires_grad=True)
kept = torch.exp(w)
for i in range(2000):
    (torch.sin(w) * w).sum().backward()
kept.sum().backward()
for i in range(2000):
    (torch.sin(w) * w).sum().backward()
(kept * 2).sum().backward()
""",
        tmp_path,
    )
    recorder_ = seen.session.recorders.main
    assert recorder_.base > 3000, "old marks must have been folded"
    assert len(recorder_.marks) <= 400 + MARKS  # what a tape holds comes on top
    (finding,) = seen.findings
    assert finding.built.line == 3
    assert finding.freed.line == 6
    assert finding.reused.line == 9


def test_a_rewritten_function_still_looks_like_itself(tmp_path: Path) -> None:
    import inspect

    seen = watch_source(
        '''
def documented(a, *, b=2):
    """What it says."""
    return a + b

async def later():
    return 1

def numbers():
    got = yield 1
    yield got
''',
        tmp_path,
    )
    documented = seen.names["documented"]
    assert documented.__doc__ == "What it says."
    assert "return a + b" in inspect.getsource(documented)
    generator = seen.names["numbers"]()
    assert [next(generator), generator.send("hello")] == [1, "hello"]
    assert documented(1) == 3


def test_threads_keep_their_own_record(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(
        """
import threading
def work(results):
    w = torch.ones(2, requires_grad=True)
    for _ in range(50):
        (w * w).sum().backward()
    results.append(w.grad)
results = []
threads = [threading.Thread(target=work, args=(results,)) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
w = torch.ones(2, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
""",
        tmp_path,
    )
    assert len(seen.names["results"]) == 3
    (finding,) = seen.findings
    assert (finding.freed.line, finding.reused.line) == (14, 15)


def test_saved_tensor_hooks_are_not_woken(tmp_path: Path, torch_as_it_was: None) -> None:
    """Unpacking a hooked tensor runs the program's code: a look or a post-mortem must not do that."""
    seen = watch_source(
        """
unpacked = []
def unpack(x):
    unpacked.append(1)
    return x
w = torch.ones(2, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
    value = torch.exp(w)
    other = torch.exp(w)
loss = value.sum()
loss.backward()
swept = len(unpacked)
(loss + other.sum() * loss).backward()
""",
        tmp_path,
    )
    assert isinstance(seen.error, RuntimeError)
    assert seen.names["swept"] == 1


def test_torch_is_as_it_was_without_a_watch(torch_as_it_was: None) -> None:
    weight = torch.ones(2, requires_grad=True)
    (weight * weight).sum().backward()
    assert weight.grad.tolist() == [2.0, 2.0]


def test_under_a_torch_that_tells_no_hooks_no_saved_value_is_read_once_there_are_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As older versions of torch are: their saved tensors have no `unpack_hook`."""
    home = torch._C._autograd

    class Untold:
        """A saved tensor that tells nothing."""

    monkeypatch.setattr(home, "SavedTensor", Untold)
    told: list[str] = []
    push = home._push_saved_tensors_default_hooks
    undo = compat.mind_saved_hooks(told.append)
    try:
        weight = torch.ones(3, requires_grad=True)
        before = [state for _, state, _ in compat.saved_states((weight * weight).grad_fn)]
        read: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: read.append(1) or x):
            squared = weight * weight
        squared.sum().backward()
        read.clear()
        assert {state for _, state, _ in compat.saved_states(squared.grad_fn)} == {"live"}
        assert (before, read, len(told)) == (["live", "live"], [], 1)
    finally:
        undo()
        compat.mind_saved_hooks(told.append)()
    assert home._push_saved_tensors_default_hooks is push


def test_a_file_that_is_read_again_unchanged_is_marked_once() -> None:
    statements, source = Statements(), b"y = 1\nfor x in range(3):\n    y += x\n"
    first = marked_code(source, "again.py", statements, lambda what: None)
    count = len(statements)
    assert marked_code(source, "again.py", statements, lambda what: None) is first
    assert len(statements) == count
    assert marked_code(source + b"z = 2\n", "again.py", statements, lambda what: None) is not first
    assert (
        marked_code(source, "again.py", statements, lambda what: None) is not first
    )  # its lines were others meanwhile


def test_the_soak_runs(monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None) -> None:
    monkeypatch.setattr("sys.argv", ["soak_memory.py", "--steps", "40"])
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    assert tool.load("soak_memory").main() == 0
