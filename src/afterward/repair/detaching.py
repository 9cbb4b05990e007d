"""How a value of unknown shape is detached: a tensor, or the tensors of a tuple, list or dict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import libcst as cst

from afterward.model.site import Site
from afterward.repair.names import stem
from afterward.repair.workshop import Workshop

_EACH = ("t", "u", "s", "r")  # names for what a container holds, from the outside in


def detached(
    name: str, shapes: Sequence[str] = (), fields: Mapping[str, Mapping[str, bool]] | None = None, depth: int = 0
) -> str:
    """An expression for the value of a name, cut from its history. Shapes lead from the outermost container to the
    tensors; one of our own is a record by its class."""
    if not shapes:
        return f"{name}.detach()"
    shape, rest = shapes[0], shapes[1:]
    each = "v" if shape == "dict" and depth == 0 else _EACH[depth % len(_EACH)]
    inner = detached(each, rest, fields, depth + 1)
    if shape == "tuple":
        return f"tuple({inner} for {each} in {name})"
    if shape == "list":
        return f"[{inner} for {each} in {name}]"
    if shape == "deque":
        return f"type({name})(({inner} for {each} in {name}), {name}.maxlen)"
    if shape == "dict":
        key = "k" if depth == 0 else f"key_{each}"
        return f"{{{key}: {inner} for {key}, {each} in {name}.items()}}"
    cut = [
        f"{part}={detached(whole, rest, fields, depth) if is_cut else whole}"
        for part, is_cut in (fields or {}).get(shape, {}).items()
        for whole in (f"{name}.{part}",)
    ]
    return f"{shape}({', '.join(cut)})"


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
    if kind == "str":
        return "key"
    if kind in ("int", "float"):
        return "number"
    if kind == "NoneType":
        return "none"
    return "dict" if kind.lower().endswith("dict") else kind


def fields_of(shop: Workshop, name: str) -> dict[str, bool]:
    """The fields of a record class of the program (a NamedTuple or dataclass): may it hold tensors?"""
    for file in shop.texts:
        if f"class {name}" not in shop.texts[file]:
            continue
        source = shop.source(Site(file, 1, 1))
        for each in source.statements if source is not None else ():
            if isinstance(each, cst.ClassDef) and each.name.value == name and isinstance(each.body, cst.IndentedBlock):
                assert source is not None
                lines = [s.body[0] for s in each.body.body if isinstance(s, cst.SimpleStatementLine)]
                return {
                    line.target.value: source.code(line.annotation.annotation) not in ("int", "float", "str", "bool")
                    for line in lines
                    if isinstance(line, cst.AnnAssign) and isinstance(line.target, cst.Name)
                }
    return {}


CONTAINERS = ("tuple", "list", "dict", "deque")
DEEPEST = 4


class Shapes:
    """The shapes to try for one value, each once, as trials tell what it, and what it holds, really is."""

    def __init__(self, shop: Workshop, first: str = "tensor") -> None:
        self.shop = shop
        self.shapes: tuple[str, ...] | None = () if first == "tensor" else (first,)
        self.guard = ""
        self._tried: set[tuple[tuple[str, ...], str]] = set()

    def __bool__(self) -> bool:
        if self.shapes is None or len(self.shapes) > DEEPEST or (self.shapes, self.guard) in self._tried:
            return False
        return all(shape in CONTAINERS or fields_of(self.shop, shape) for shape in self.shapes)

    def detached(self, name: str) -> str:
        assert self.shapes is not None
        self._tried.add((self.shapes, self.guard))
        return detached(name, self.shapes, {shape: fields_of(self.shop, shape) for shape in self.shapes})

    def learn(self, error: str | None) -> None:
        """From the error of a trial; None where the patch was not tried."""
        seen = shape_in(error or "")
        if seen == "none":
            self.guard = "{} is not None"
        elif seen == "number":
            self.guard = "torch.is_tensor({})"
        elif seen is None or self.shapes is None:
            self.shapes = None
        elif seen == "key":  # the items of a dict were taken for those of a list
            self.shapes = (*self.shapes[:-1], "dict")
        else:
            self.shapes = (*self.shapes, seen)
