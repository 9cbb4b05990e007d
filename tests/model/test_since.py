"""A part of a history speaks of nothing that lies before it."""

from __future__ import annotations

from afterward.model.built import Built, Execution, Statement
from afterward.model.history import Fed, History, Number, Pass
from afterward.model.site import Site


def test_what_began_before_a_moment_is_left_out() -> None:
    executions = tuple(Execution(at, at + 5, 1, at, at + 3) for at in (10, 20, 30))
    whole = History(
        passes=tuple(Pass(number, None, at) for number, at in enumerate((15, 25, 35))),
        built=Built((Statement(Site("train.py", 4, 4), executions),), 23),
        fed=(Fed(0, 1), Fed(1, 2)),
        numbers=(Number("a", 3, 0), Number("b", 4, 2)),
    )
    late = whole.since(20)
    assert [run.id for run in late.passes] == [1, 2]
    assert late.built == Built((Statement(Site("train.py", 4, 4), executions[1:]),), 13)
    assert late.fed == (Fed(1, 2),)
    assert [one.name for one in late.numbers] == ["b"]
