"""How states of all shapes are detached, as trials tell what they are."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from afterward.repair import Workshop
from afterward.repair.detaching import Shapes, detached

CLASSES = """from typing import NamedTuple
class State(NamedTuple):
    h: Tensor
    c: Tensor
    steps: int = 0
"""


class Leaf:
    """Stands where a tensor stands."""

    def __init__(self, cut: bool = False) -> None:
        self.cut = cut

    def detach(self) -> Leaf:
        return Leaf(cut=True)


def _learned(value: Any) -> tuple[str, Any]:
    """Tries shapes as `fix` does, with the error of each trial, until one holds."""
    shapes = Shapes(Workshop({"m.py": CLASSES}))
    names = {"state": value, "State": State}
    while shapes:
        text = shapes.detached("state")
        try:
            return text, eval(text, names)
        except AttributeError as error:
            shapes.learn(f"AttributeError: {error}")
    pytest.fail(f"given up after {shapes.shapes}")


class State(tuple):
    """As NamedTuple makes it."""

    def __new__(cls, h: Any, c: Any, steps: int = 0) -> State:
        return super().__new__(cls, (h, c, steps))

    h = property(lambda self: self[0])
    c = property(lambda self: self[1])
    steps = property(lambda self: self[2])


def _leaves(value: Any) -> list[Leaf]:
    if isinstance(value, Leaf):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [leaf for each in inner for leaf in _leaves(each)]


@pytest.mark.parametrize(
    "make",
    [
        Leaf,
        lambda: (Leaf(), Leaf()),
        lambda: [Leaf()],
        lambda: {"h": Leaf(), "c": Leaf()},
        lambda: [(Leaf(), Leaf()), (Leaf(), Leaf())],
        lambda: {"layers": [(Leaf(), Leaf())]},
        lambda: {"a": {"b": [Leaf()]}},
        lambda: [State(Leaf(), Leaf(), 3)],
    ],
)
def test_every_tensor_is_cut_and_the_shape_stays(make: Callable[[], Any]) -> None:
    value = make()
    text, cut = _learned(value)
    ast.parse(text)
    assert type(cut) is type(value)
    assert len(_leaves(cut)) == len(_leaves(value))
    assert all(leaf.cut for leaf in _leaves(cut))


def test_names_of_one_level_do_not_hide_those_of_another() -> None:
    assert detached("state", ("dict", "list", "tuple")) == (
        "{k: [tuple(s.detach() for s in u) for u in v] for k, v in state.items()}"
    )
