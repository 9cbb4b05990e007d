"""How a value of unknown shape is detached: a tensor, or the tensors of a tuple, list or dict."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from afterward.model.site import Site
from afterward.repair.names import stem
from afterward.repair.workshop import Workshop


def detached(name: str, shape: str = "tensor", fields: Sequence[str] = ()) -> str:
    """An expression for the value of a name, cut from its history. A shape of our own is a record by its class."""
    if shape == "tuple":
        return f"tuple(t.detach() for t in {name})"
    if shape == "list":
        return f"[t.detach() for t in {name}]"
    if shape == "deque":
        return f"type({name})((t.detach() for t in {name}), {name}.maxlen)"
    if shape == "dict":
        return f"{{k: v.detach() for k, v in {name}.items()}}"
    if shape != "tensor":
        return f"{shape}({', '.join(f'{field}={name}.{field}.detach()' for field in fields)})"
    return f"{name}.detach()"


def likely_shape(name: str) -> str:
    """What the whole behind an element's name is likely to be: a number picks from a tuple, a key from a dict."""
    element = name[len(stem(name)) :]
    if re.match(r"\[-?\d+\]", element):
        return "tuple"
    return "dict" if re.match(r"\[['\"]", element) else "tensor"


def shape_in(error: str) -> str | None:
    """What a failed trial says the value really was: a container, "none", "number", or the name of a class."""
    match = re.search(r"'(?:\w+\.)*(\w+)' object has no attribute 'detach'", error)
    if match is None:
        return "none" if "'NoneType' object" in error else None
    kind = match[1]
    if kind in ("int", "float"):
        return "number"
    if kind == "NoneType":
        return "none"
    return "dict" if kind.lower().endswith("dict") else kind


def fields_of(shop: Workshop, name: str) -> list[str]:
    """The fields of a record class of the program: a NamedTuple or dataclass."""
    for file in shop.texts:
        if f"class {name}" not in shop.texts[file]:
            continue
        source = shop.source(Site(file, 1, 1))
        for each in source.statements if source is not None else ():
            if isinstance(each, cst.ClassDef) and each.name.value == name and isinstance(each.body, cst.IndentedBlock):
                lines = [s.body[0] for s in each.body.body if isinstance(s, cst.SimpleStatementLine)]
                return [
                    n.target.value for n in lines if isinstance(n, cst.AnnAssign) and isinstance(n.target, cst.Name)
                ]
    return []


CONTAINERS = ("tensor", "tuple", "list", "dict", "deque")


class Shapes:
    """The shapes to try for one value, each once, as trials tell what it really is."""

    def __init__(self, shop: Workshop, first: str = "tensor") -> None:
        self.shop = shop
        self.shape: str | None = first
        self.guard = ""
        self._tried: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        if self.shape is None or (self.shape, self.guard) in self._tried:
            return False
        return self.shape in CONTAINERS or bool(fields_of(self.shop, self.shape))

    def detached(self, name: str) -> str:
        assert self.shape is not None
        self._tried.add((self.shape, self.guard))
        return detached(name, self.shape, fields_of(self.shop, self.shape) if self.shape not in CONTAINERS else ())

    def learn(self, error: str | None) -> None:
        """From the error of a trial; None where the patch was not tried."""
        seen = shape_in(error or "")
        if seen == "none":
            self.guard = "{} is not None"
        elif seen == "number":
            self.guard = "torch.is_tensor({})"
        else:
            self.shape = seen
