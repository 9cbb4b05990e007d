"""How a value of unknown shape is detached: a tensor, or the tensors of a tuple, list or dict."""

from __future__ import annotations

import re

from afterward.repair.names import stem


def detached(name: str, shape: str = "tensor") -> str:
    """An expression for the value of a name, cut from its history."""
    if shape == "tuple":
        return f"tuple(t.detach() for t in {name})"
    if shape == "list":
        return f"[t.detach() for t in {name}]"
    if shape == "dict":
        return f"{{k: v.detach() for k, v in {name}.items()}}"
    if shape == "named":
        return f"type({name})(*(t.detach() for t in {name}))"
    return f"{name}.detach()"


def likely_shape(name: str) -> str:
    """What the whole behind an element's name is likely to be: a number picks from a tuple, a key from a dict."""
    element = name[len(stem(name)) :]
    if not element:
        return "tensor"
    return "tuple" if re.match(r"\[-?\d+\]", element) else "dict"


def shape_in(error: str) -> str | None:
    """What a failed trial says the value really was."""
    match = re.search(r"'(\w+)' object has no attribute 'detach'", error)
    if match is None:
        return None
    kind = match[1]
    if kind in ("tuple", "list", "dict"):
        return kind
    if kind == "NoneType":
        return "none"
    return "dict" if "dict" in kind.lower() else "named"
