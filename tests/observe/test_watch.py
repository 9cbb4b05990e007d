"""`afterward.watch()` inside a program that `afterward run` did not start."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch
from tests.watching import watch_source

import afterward


def _carried() -> None:
    cell, hidden = torch.nn.RNNCell(2, 3), torch.zeros(1, 3)
    for x in torch.randn(3, 1, 2):
        hidden = cell(x, hidden)
        hidden.sum().backward()


def test_the_diagnosis_is_a_note_on_the_same_exception(torch_as_it_was: None) -> None:
    with (
        pytest.raises(RuntimeError, match="backward through the graph a second time") as caught,
        afterward.watch() as run,
    ):
        _carried()
    (finding,) = run.report().findings
    assert (finding.code, finding.bridge.name, finding.reused.step) == ("AFT103", "hidden", 2)
    assert not finding.caught
    first = _carried.__code__.co_firstlineno
    assert (finding.built.line, finding.reused.line) == (first + 3, first + 4)
    if sys.version_info >= (3, 11):
        assert "error[AFT103]" in caught.value.__notes__[0]


def test_the_function_that_passes_go_through_can_still_be_kept_under_its_hash(torch_as_it_was: None) -> None:
    """As tracers keep code objects: ours among them."""
    with afterward.watch():
        assert isinstance(hash(torch.autograd.graph._engine_run_backward.__code__), int)


def test_nothing_is_noted_about_correct_code(torch_as_it_was: None) -> None:
    with afterward.watch() as run:
        weight = torch.ones(2, requires_grad=True)
        for _ in range(3):
            (weight * weight).sum().backward()
    assert run.report().findings == ()
    assert run.report().gaps == ()


def test_a_generator_keeps_its_steps(torch_as_it_was: None) -> None:
    def training():
        weight = torch.ones(2, requires_grad=True)
        state = torch.zeros(2)
        for step in range(4):
            state = torch.tanh(weight + state)
            state.sum().backward()
            yield step

    with pytest.raises(RuntimeError), afterward.watch() as run:
        list(training())
    (finding,) = run.report().findings
    assert (finding.name, finding.bridge.name) == ("state-carried-over", "state")
    assert (finding.freed.step, finding.reused.step) == (1, 2)


def test_a_watch_can_not_be_entered_twice(torch_as_it_was: None) -> None:
    with afterward.watch() as run, pytest.raises(RuntimeError, match="already on"):
        run.__enter__()


def test_a_silent_fault_is_in_the_report(torch_as_it_was: None) -> None:
    with afterward.watch() as run:
        layer = torch.nn.Linear(2, 1)
        for x in torch.randn(6, 3, 2):
            layer(x).pow(2).mean().backward(retain_graph=True)
            layer.zero_grad()
    (finding,) = run.report().findings
    assert (finding.code, finding.severity.value) == ("AFT303", "warning")


def test_a_watch_within_a_watch_joins_it(torch_as_it_was: None) -> None:
    weight = torch.ones(2, requires_grad=True)
    with afterward.watch() as outer:
        with afterward.watch() as inner:
            loss = (weight * weight).sum()
            loss.backward()
        with pytest.raises(RuntimeError):
            loss.backward()
    assert inner.report().findings == ()
    (finding,) = outer.report().findings
    assert (finding.code, finding.caught) == ("AFT101", True)


def test_a_watch_keeps_nothing_of_the_error_alive(torch_as_it_was: None) -> None:
    def failing() -> None:
        loss = torch.ones(2, requires_grad=True).exp().sum()
        held.append(weakref.ref(loss))
        loss.backward()
        loss.backward()

    held: list[weakref.ref[torch.Tensor]] = []
    run = afterward.watch()
    try:
        with run:
            failing()
    except RuntimeError:
        pass
    gc.collect()
    assert held[0]() is None
    assert [finding.code for finding in run.report().findings] == ["AFT101"]


def _on_one_line() -> None:
    value = torch.ones(2, requires_grad=True).exp()
    for _ in range(3): value.sum().backward()  # noqa: E701 # fmt: skip


def test_a_loop_and_its_body_on_one_line(torch_as_it_was: None) -> None:
    with pytest.raises(RuntimeError, match="second time"), afterward.watch() as run:
        _on_one_line()
    (finding,) = run.report().findings
    assert (finding.reused.line, finding.reused.step) == (_on_one_line.__code__.co_firstlineno + 2, 2)


def test_an_error_that_lies_where_an_old_one_lay_is_another(
    tmp_path: Path, torch_as_it_was: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python gives the memory of an error that is gone to the next one: here, always."""
    real = id
    same = lambda thing: 1 if isinstance(thing, BaseException) else real(thing)  # noqa: E731
    monkeypatch.setattr("afterward.observe.recording.session.id", same, raising=False)
    source = """
x = torch.ones(3, requires_grad=True)
for _ in range(3):
    loss = (x * x).sum()
    loss.backward()
    try:
        loss.backward()
    except RuntimeError:
        pass
"""
    assert len(watch_source(source, tmp_path).findings) == 3


def test_modules_of_the_program_named_like_the_standard_librarys(tmp_path: Path) -> None:
    for name in ("ast", "difflib", "opcode"):
        (tmp_path / f"{name}.py").write_text(f"HERE = {name!r}\n")
    program = "import ast, sys, afterward\nwith afterward.watch() as run:\n    import difflib, opcode\n"
    program += "print(ast is sys.modules['ast'], ast.HERE, difflib.HERE, opcode.HERE, run.report().findings)\n"
    (tmp_path / "main.py").write_text(program)
    done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True ast difflib opcode ()\n", "")
