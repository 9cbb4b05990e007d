"""Made-up diagnoses on any code: every place is a statement or an expression that the file has, every name too."""

from __future__ import annotations

import random
import re

import libcst as cst

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Form, Label, Remedy, Role, Ways
from afterward.model.site import Site
from afterward.repair.names import is_read
from afterward.repair.source import Source, Statement, descendants

# The codes and names that some remedies ask about.
_FAULTS = (
    ("AFT101", "backward-twice"),
    ("AFT102", "losses-share-forward"),
    ("AFT103", "state-carried-over"),
    ("AFT104", "forward-outside-loop"),
    ("AFT106", "loss-accumulated"),
    ("AFT201", "stepped-before-backward"),
    ("AFT202", "written-in-place"),
    ("AFT304", "loss-never-used"),
    ("AFT401", "history-cut"),
    ("AFT404", "parameters-never-reached"),
)
_PASS = re.compile(r"\b(backward|grad)\(")
_WRITE = re.compile(r"\bstep\(|\w_\(|[-+*/]=|\]\s*=")
_CUT = re.compile(
    r"\b(detach_?|item|tolist|no_grad|inference_mode|tensor|as_tensor|set_grad_enabled|data)\b|requires_grad"
)
_STORE = re.compile(r"\.(append|push|add|update|log)\(|[^=!<>]=[^=]|return ")
_METHODS = (
    *("backward", "backward", "step", "zero_grad", "detach", "item", "tolist", "append", "requires_grad_", "add_"),
    *("scale", "tensor", "grad", "as_tensor", "manual_backward"),
)


def grafted(text: str, chance: random.Random, share: float = 0.3) -> str:
    """The text with some of its method calls renamed to those that remedies look for, wherever they stand."""

    def renamed(match: re.Match[str]) -> str:
        return f".{chance.choice(_METHODS)}(" if chance.random() < share else match[0]

    return re.sub(r"(?<=[\w\])])\.[a-z_]+\(", renamed, text)


class Faults:
    """Draws faults for one file; the statements that each role is likely to have are looked up once."""

    def __init__(self, source: Source, chance: random.Random) -> None:
        self.source = source
        self.chance = chance
        heads = [(statement, _head(source, statement)) for statement in source.statements]
        self._any = [statement for statement, _ in heads]
        self._likely = {
            pattern: [statement for statement, text in heads if pattern.search(text)]
            for pattern in (_PASS, _WRITE, _CUT, _STORE)
        }
        self._loops = [s for s in self._any if isinstance(s, (cst.For, cst.While))]

    def draw(self, kind: str) -> tuple[Diagnosis, Remedy]:
        """A fault that this kind of remedy is asked to cure."""
        chance = self.chance
        early, late = self._two_passes()
        built, written, cut = self._way(_STORE), self._way(_WRITE), self._way(_CUT)
        name, reading = self._name(late[-1])
        code, fault = chance.choice(_FAULTS)
        where = chance.choice([built[-1], early[-1], late[-1], written[-1], cut[-1], reading])
        form = chance.choice([Form.READ_LATE, Form.READ_EARLY, Form.STORED])
        target = chance.choice([name, name, "", "retain_graph"])
        remedy = Remedy(kind, Effect.SAME_GRADIENTS, form, where, target)
        loop = self._site(chance.choice(self._loops)) if self._loops and chance.random() < 0.9 else None
        found = Diagnosis(
            primary=Label(late[-1]),
            secondary=(Label(built[-1], Role.BUILT), Label(written[-1], Role.WRITTEN)),
            remedies=(remedy,),
            built=built[-1],
            freed=early[-1],
            reused=late[-1],
            written=written[-1],
            cut=chance.choice([cut[-1], cut[-1], None]),
            bridge=chance.choice([Bridge(name, "local", reading), Bridge(name, "local", reading), None]),
            ways=Ways(built, early, late, written, loop, chance.choice([built[-1], None])),
            code=code,
            name=fault,
        )
        return found, remedy

    def _two_passes(self) -> tuple[tuple[Site, ...], tuple[Site, ...]]:
        """The ways to two passes: often one way at first, often two statements of one block."""
        first = self._statement(_PASS)
        block = self.source.block_of(first) or [first]
        behind = [s for s in block[block.index(first) :] if s is not first or self.chance.random() < 0.3]
        likely = [s for s in behind if s in self._likely[_PASS]]
        near = likely if likely and self.chance.random() < 0.8 else behind
        second = self.chance.choice(near) if near and self.chance.random() < 0.8 else self._statement(_PASS)
        before = (self._site(self._statement(_PASS)),) if self.chance.random() < 0.2 else ()
        return (*before, self._site(first)), (*before, self._site(second))

    def _way(self, pattern: re.Pattern[str]) -> tuple[Site, ...]:
        return tuple(self._site(self._statement(pattern)) for _ in range(self.chance.choice([1, 1, 2])))

    def _statement(self, pattern: re.Pattern[str]) -> Statement:
        likely = self._likely[pattern]
        return self.chance.choice(likely if likely and self.chance.random() < 0.85 else self._any)

    def _name(self, otherwise: Site) -> tuple[str, Site]:
        """A name and a place where it is read."""
        for _ in range(5):
            statement = self.chance.choice(self._any)
            kinds = (cst.Name, cst.Attribute, cst.Subscript)
            nodes = [n for n in descendants(statement) if isinstance(n, kinds) and is_read(self.source, n)]
            if nodes:
                node = self.chance.choice(nodes)
                return self.source.code(node), self._site(node)
        return "state", otherwise

    def _site(self, node: cst.CSTNode) -> Site:
        place = self.source.range(node)
        return Site(self.source.file, place.start.line, place.end.line, place.start.column, place.end.column)


def _head(source: Source, statement: Statement) -> str:
    """The text of a statement's own lines."""
    first, last = source.head_lines(statement)
    return source.text[source.offset(first, 0) : source.offset(last, 0)] + _line(source, last)


def _line(source: Source, number: int) -> str:
    start = source.offset(number, 0)
    return re.match(r"[^\r\n]*", source.text[start:]).group()  # type: ignore[union-attr]
