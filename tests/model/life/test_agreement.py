"""The model against PyTorch: the programs it once got wrong, the usual ones, and a few hundred random ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from hypothesis import HealthCheck, given, seed, settings  # noqa: E402
from kept import KEPT, USUAL  # noqa: E402

import agree  # noqa: E402
from afterward.model.life import table  # noqa: E402
from afterward.model.life.formulas import FORMULAS  # noqa: E402
from lifelab.compare import Disagreement, Tally, combined, compare, compare_pair, on_model, retained, twice  # noqa: E402
from lifelab.on_torch import OnTorch, quiet  # noqa: E402
from lifelab.programs import Apply, Backward, Derive, For, Grad, If, Leaf, Program, Statement  # noqa: E402
from lifelab.running import Outside, Runner, statements  # noqa: E402
from lifelab.source import to_source  # noqa: E402
from lifelab.strategies import programs  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        torch.__version__.partition("+")[0] != table().torch,
        reason=f"the table was read from torch {table().torch}; an agreement run is exact for that version",
    ),
]


@pytest.mark.parametrize("program", [*KEPT.values(), *USUAL.values()], ids=[*KEPT, *USUAL])
def test_kept_programs_agree(program: Program) -> None:
    quiet()
    compare(program)


def test_random_programs_agree() -> None:
    tally = Tally()
    for program in (
        *KEPT.values(),
        *USUAL.values(),
    ):  # which random ones are drawn depends on the modules that are loaded
        compare(program, tally)
    agree.agree(500, 2024, tally)
    assert tally.programs >= 500
    # Agreement means something only if all this was met on the way.
    assert tally.passes["SECOND_TIME"] > 20
    assert tally.passes["MODIFIED"] > 0
    assert tally.passes["succeeded"] > 200
    assert tally.pairs_equal > 5
    assert tally.pairs_doubled > 5
    assert len(tally.operations) > 150


FORMULA_OPERATIONS = ["add", "sub", "neg", "mul", "exp", "sin", "cos", "clone", "tanh", "sigmoid", "relu"]


@pytest.mark.parametrize("operation", FORMULA_OPERATIONS)
def test_every_formula_agrees(operation: str) -> None:
    """A pass that is recorded, and a pass over what it built, node for node."""
    quiet()
    inputs = ("y", "w")[: len(table()[operation].shapes)]
    program = (
        Leaf("w", "M", True),
        Apply(("y",), "mul", ("w", "w")),
        Apply(("z",), operation, inputs),
        Apply(("loss",), "sum", ("z",)),
        Grad(("g",), ("loss",), (None,), ("w",), create=True),
        Apply(("h",), "mul", ("g", "w")),
        Apply(("penalty",), "sum", ("h",)),
        Backward(("penalty",), (None,), retain=True),
        Backward(("penalty",), (None,), create=operation in ("add", "sub", "neg", "mul", "exp", "sin", "cos")),
        Backward(("penalty",), (None,)),
        Backward(("loss",), (None,)),
    )
    _, left_out = on_model(program)
    assert not left_out
    compare(program)


def test_there_is_no_formula_that_is_not_tried() -> None:
    tried = {plan.name for name in [*FORMULA_OPERATIONS, "sum"] for plan in table()[name].patterns[_all(name)].nodes}
    assert set(FORMULAS) == tried


def _all(name: str) -> tuple[bool, ...]:
    return tuple(True for _ in table()[name].shapes)


def test_a_difference_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: a model that forgets to free is told apart."""
    from afterward.model.life.parts import Node

    monkeypatch.setattr(Node, "can_be_freed", property(lambda self: False))
    monkeypatch.setattr("lifelab.on_model.refusal", lambda node, tape: None)
    with pytest.raises(Disagreement):
        compare(USUAL["a state carried from step to step"])


def test_pairs_are_told_equal_and_doubled() -> None:
    quiet()
    program = (
        Leaf("w", "M", True),
        Apply(("y",), "exp", ("w",)),
        Apply(("a",), "sum", ("y",)),
        Apply(("b",), "mean", ("w",)),
        Backward(("a",), (None,)),
        Backward(("b",), (None,)),
    )
    for change, counter in ((retained, "pairs_equal"), (combined, "pairs_equal"), (twice, "pairs_doubled")):
        tally = Tally()
        compare_pair(program, change(program), compare(program), tally)
        assert getattr(tally, counter) == 1


def test_a_branch_printed_after_a_loop_asks_about_iteration_zero() -> None:
    loop = For(2, (Leaf("w", "M", True), If(1, (Leaf("v", "M", True),))))
    text = to_source((loop, If(0, (Leaf("u", "M", True),)), If(1, (Leaf("x", "M", True),))))
    scope: dict[str, object] = {}
    exec(compile(text, "<program>", "exec"), scope)
    assert {"w", "v", "u"} <= set(scope)
    assert "x" not in scope


@seed(7)
@settings(max_examples=60, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_a_program_printed_computes_what_it_does_run(program: Program) -> None:
    """The text of a program is the program: run as Python it leaves the same gradients."""
    quiet()
    runner = Runner(OnTorch())
    try:
        runner.run(program)
    except Outside:
        return  # a statement that depends on memory layout: the runner leaves it out, Python does not
    if any(_may_be_none(statement) for statement in statements(program)):
        return  # a gradient that is not there is None: the runner knows, the printed text does not
    names = [s.name for s in statements(program) if isinstance(s, Leaf)]
    scope: dict[str, object] = {}
    torch.manual_seed(0)
    exec(compile(to_source(program, guarded=True), "<program>", "exec"), scope)
    for name in names:
        ours, theirs = runner.env.get(name), scope.get(name)
        if ours is None or theirs is None:
            assert ours is theirs
        elif ours.is_leaf and not ours._is_view():
            assert (ours.grad is None) == (theirs.grad is None)
            if ours.grad is not None:
                torch.testing.assert_close(ours.grad, theirs.grad, equal_nan=True)


def _may_be_none(statement: Statement) -> bool:
    if isinstance(statement, Derive):
        return statement.how == "grad"
    return isinstance(statement, Grad) and statement.allow_unused
