"""How states of all shapes are detached, as trials tell what they are."""

from __future__ import annotations

import ast
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.watching import watch_source

from afterward.model.shapes import detached, holding, likely_shape
from afterward.observe.proving.structure import structure_of
from afterward.repair import Workshop, candidates
from afterward.repair.detaching import Shapes
from afterward.repair.source import Source


class Leaf:
    """Stands where a tensor stands."""

    requires_grad, is_leaf = False, True

    def __init__(self, cut: bool = False) -> None:
        self.cut = cut

    def detach(self) -> Leaf:
        return Leaf(cut=True)


class Parameter(Leaf):
    """Must stay what it is."""

    requires_grad = True


@dataclass
class Slots:
    keys: list[Any] = field(default_factory=lambda: [Leaf(), Leaf()])
    writes: int = 3


@dataclass(frozen=True)
class Frozen:
    h: Any
    n: int = 2


class Carry:
    """An object of the program's own."""

    def __init__(self, h: Any) -> None:
        self.weight, self.h, self.name = Parameter(), h, "carry"


SOURCE = Source("m.py", "state = None\n")
State = namedtuple("State", "h c steps")
NAMES = {"Frozen": Frozen, "torch": type("torch", (), {"is_tensor": staticmethod(lambda x: isinstance(x, Leaf))})}


def _learned(make: Callable[[], Any], by_statement: bool) -> tuple[str, Any]:
    """Tries shapes as `fix` does, each on a state of its own and with the answer of a trial, until one holds."""
    shapes = Shapes(Workshop({}, tries=True))
    while shapes:
        text = (
            "\n".join(shapes.lines("state", SOURCE, SOURCE.statements[0]))
            if by_statement
            else f"state = {shapes.expression('state')}"
        )
        space = {**NAMES, "state": make()}
        try:
            exec(text, space)
            return text, space["state"]
        except AttributeError as error:
            shapes.learn(f"AttributeError: {error}\n{structure_of(error.obj)!r}")
    pytest.fail("given up")


def _leaves(value: Any) -> list[Leaf]:
    if isinstance(value, Leaf):
        return [value]
    inner = value.values() if isinstance(value, dict) else vars(value).values() if hasattr(value, "__dict__") else value
    return [leaf for each in inner or () if not isinstance(each, (str, int)) for leaf in _leaves(each)]


EXPRESSED = [
    (Leaf, "state.detach()"),
    (lambda: (Leaf(), Leaf()), "tuple(t.detach() for t in state)"),
    (lambda: [Leaf()], "[t.detach() for t in state]"),
    (lambda: {"h": Leaf(), "c": Leaf()}, "{k: v.detach() for k, v in state.items()}"),
    (lambda: deque([Leaf()], maxlen=3), "type(state)((t.detach() for t in state), state.maxlen)"),
    (lambda: [(Leaf(), Leaf()), (Leaf(), Leaf())], "[tuple(u.detach() for u in t) for t in state]"),
    (
        lambda: {"layers": [(Leaf(), Leaf())]},
        "{k: [tuple(s.detach() for s in u) for u in v] for k, v in state.items()}",
    ),
    (lambda: [State(Leaf(), Leaf(), 3)], "[t._replace(h=t.h.detach(), c=t.c.detach()) for t in state]"),
    (lambda: Frozen(Leaf()), "Frozen(h=state.h.detach(), n=state.n)"),
    (lambda: [Leaf(), None], "[t.detach() if t is not None else None for t in state]"),
    (
        lambda: [(Leaf(), None, 1), (Leaf(), Leaf(), 2)],
        "[tuple(u.detach() if torch.is_tensor(u) else u for u in t) for t in state]",
    ),
    (lambda: (Leaf(), [Leaf()]), "(state[0].detach(), [t.detach() for t in state[1]])"),
    (lambda: {"h": Leaf(), "past": [Leaf()], "n": 1}, None),
    (lambda: [Parameter(), Leaf()], None),
]
STATED = [
    (lambda: defaultdict(list, a=Leaf()), "for k, v in state.items():\n    state[k] = v.detach()"),
    (lambda: OrderedDict(a=[Leaf()]), "for k, v in state.items():\n    state[k] = [u.detach() for u in v]"),
    (Slots, "state.keys = [t.detach() for t in state.keys]"),
    (lambda: Carry(Leaf()), "state.h = state.h.detach()"),
    (lambda: Carry(None), "if state.h is not None:\n    state.h = state.h.detach()"),
]


@pytest.mark.parametrize(("make", "wanted"), EXPRESSED)
def test_every_tensor_is_cut_and_the_shape_stays(make: Callable[[], Any], wanted: str | None) -> None:
    text, cut = _learned(make, by_statement=False)
    ast.parse(text)
    assert wanted is None or text == f"state = {wanted}"
    _is_cut(cut, make())


@pytest.mark.parametrize(("make", "wanted"), [*((make, None) for make, _ in EXPRESSED), *STATED])
def test_what_can_be_changed_keeps_its_type(make: Callable[[], Any], wanted: str | None) -> None:
    text, cut = _learned(make, by_statement=True)
    assert wanted is None or text == wanted
    _is_cut(cut, make())


def _is_cut(cut: Any, value: Any) -> None:
    assert type(cut) is type(value)
    assert len(_leaves(cut)) == len(_leaves(value))
    assert all(leaf.cut for leaf in _leaves(cut) if not isinstance(leaf, Parameter))
    assert getattr(cut, "maxlen", None) == getattr(value, "maxlen", None)


def test_what_is_empty_at_first_is_looked_at_again() -> None:
    values = [[], [(Leaf(), Leaf())]]
    shapes = Shapes(Workshop({}, tries=True))
    while shapes:
        text = f"state = {shapes.expression('state')}"
        space: dict[str, Any] = {}
        try:
            for value in values:
                space = {"state": value}
                exec(text, space)
            break
        except AttributeError as error:
            shapes.learn(f"AttributeError: {error}\n{structure_of(error.obj)!r}")
    assert text == "state = [tuple(u.detach() for u in t) for t in state]"


def test_names_of_one_level_do_not_hide_those_of_another() -> None:
    assert detached("state", holding("dict", "list", "tuple")) == (
        "{k: [tuple(s.detach() for s in u) for u in v] for k, v in state.items()}"
    )


def test_without_trials_an_index_tells_what_the_whole_is() -> None:
    assert Shapes(Workshop({}), likely_shape("[1]", None)).expression("state") == "tuple(t.detach() for t in state)"
    assert Shapes(Workshop({}), likely_shape("[:, 1]", None)).expression("state") == "state.detach()"
    assert Shapes(Workshop({}, tries=True), likely_shape("[1]", None)).expression("state") == "state.detach()"


def test_a_loop_takes_no_name_of_the_program() -> None:
    shapes = Shapes(Workshop({}, tries=True))
    assert shapes.expression("state") == "state.detach()"
    shapes.learn(f"'defaultdict' object has no attribute 'detach'\n{structure_of(defaultdict(list, a=Leaf()))!r}")
    source = Source("m.py", "if True:\n    pass\nfor v in values:\n\tk = v\n")
    near = next(each for each in source.statements if source.code(each) == "k = v")
    assert shapes.lines("state", source, near) == (
        "for k_2, v_2 in state.items():",
        "\tstate[k_2] = v_2.detach()",
    )


STORED = """\
class Net:
    def embed(self, x):
        rows = torch.tanh(x @ w)
        return {"a": rows[0], "b": rows[1]}

    def train(self):
        self.state = self.embed(torch.ones(2, 3))
        for name in ("a", "b"):
            other = self.state["a" if name == "b" else "b"]
            (heads[name] * (self.state[name] + other)).pow(2).sum().backward()
        opt.step()


w = torch.ones(3, 3, requires_grad=True)
heads = {name: torch.ones(3, requires_grad=True) for name in ("a", "b")}
opt = torch.optim.SGD([w, *heads.values()], lr=0.1)
Net().train()
"""


def test_what_gives_out_a_dict_is_not_detached_as_a_tensor(tmp_path: Path) -> None:
    (found,) = watch_source(STORED, tmp_path).findings
    text = (tmp_path / "program.py").read_text()
    shop = Workshop({found.built.file: text})
    cuts = [remedy for remedy in found.remedies if remedy.kind == "detach_state"]
    texts = [patch.applied(shop.texts) for remedy in cuts for patch in candidates(shop, found, remedy)]
    assert cuts
    assert not any("torch.ones(2, 3)).detach()" in text for one in texts for text in one.values())
