"""A value by its shape, and the source that cuts it from its graph: a tensor, or what holds tensors."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.diagnosis import Bridge

_EACH = ("t", "u", "s", "r")  # names for what a container holds, from the outside in


@dataclass(frozen=True)
class Shape:
    """What a value is: "tensor", or what holds tensors.

    The parts of a container are alike, or few enough to be told apart; beside them it may hold None, or anything.
    """

    kind: str = "tensor"
    inner: Shape | None = None  # of each part, where they are alike
    beside: str = ""  # "none", "any"
    parts: tuple[tuple[str, Shape | None], ...] = ()  # by label; without a shape it stays as it is
    name: str = ""  # of the class

    @property
    def depth(self) -> int:
        inner = [part for _, part in self.parts if part is not None]
        inner += [self.inner] if self.inner is not None else []
        return 1 + max((each.depth for each in inner), default=0)


TENSOR = Shape()


def holding(*kinds: str) -> Shape:
    """A tensor within containers of these kinds, from the outside in."""
    return Shape(kinds[0], holding(*kinds[1:])) if kinds else TENSOR


# An expression


def detached(name: str, shape: Shape = TENSOR, depth: int = 0) -> str | None:
    """An expression for the value of a name, cut from its history; None where only statements can do it."""
    if shape.kind == "tensor":
        return f"{name}.detach()"
    if shape.parts:
        return _part_by_part(name, shape, depth)
    if shape.inner is None:
        return None
    each = "v" if shape.kind == "dict" and depth == 0 else _EACH[depth % len(_EACH)]
    inner = detached(each, shape.inner, depth + 1)
    if inner is None:
        return None
    if shape.beside == "none":
        inner = f"{inner} if {each} is not None else None"
    elif shape.beside:
        test = f"torch.is_tensor({each})" if shape.inner is TENSOR else f"isinstance({each}, {shape.inner.kind})"
        inner = f"{inner} if {test} else {each}"
    if shape.kind == "tuple":
        return f"tuple({inner} for {each} in {name})"
    if shape.kind == "list":
        return f"[{inner} for {each} in {name}]"
    if shape.kind == "deque":
        return f"type({name})(({inner} for {each} in {name}), {name}.maxlen)"
    if shape.kind == "dict":
        key = "k" if depth == 0 else f"key_{each}"
        return f"{{{key}: {inner} for {key}, {each} in {name}.items()}}"
    return None


def _part_by_part(name: str, shape: Shape, depth: int) -> str | None:
    record = shape.kind in ("namedtuple", "record", "frozen")
    texts = {}
    for label, part in shape.parts:
        whole = f"{name}.{label}" if record else f"{name}[{label}]"
        cut = detached(whole, part, depth) if part is not None else whole
        if cut is None:
            return None
        texts[label] = (cut, part is not None)
    if shape.kind == "tuple":
        return f"({', '.join(cut for cut, _ in texts.values())})"
    if shape.kind == "dict":
        return f"{{**{name}, {', '.join(f'{label}: {cut}' for label, (cut, is_cut) in texts.items() if is_cut)}}}"
    if shape.kind == "namedtuple":
        return f"{name}._replace({', '.join(f'{label}={cut}' for label, (cut, is_cut) in texts.items() if is_cut)})"
    if record:
        return f"{shape.name}({', '.join(f'{label}={cut}' for label, (cut, _) in texts.items())})"
    return None


# Statements


def cut_lines(name: str, shape: Shape, loop: tuple[str, str] = ("k", "v")) -> tuple[str, ...]:
    """Statements that cut the value of a name; what can be changed keeps its identity and its type. `loop` are two
    names that the program does not use."""
    if shape.kind in ("record", "object"):
        inner = [cut_lines(f"{name}.{label}", part, loop) for label, part in shape.parts if part is not None]
        return tuple(line for lines in inner for line in lines) if all(inner) else ()
    if shape.kind == "mapping":
        return _each_value(name, shape, *loop)
    text = detached(name, shape)
    if text is None:
        return ()
    if shape.beside == "empty":
        return f"if {name} is not None:", f"    {name} = {text}"
    return (f"{name} = {text}",)


def _each_value(name: str, shape: Shape, key: str, value: str) -> tuple[str, ...]:
    """A dictionary of a kind of its own (with a default, with an order): it stays, and its values are replaced."""
    cut = detached(value, shape.inner, 1) if shape.inner is not None else None
    if cut is None:
        return ()
    head, change = f"for {key}, {value} in {name}.items():", f"{name}[{key}] = {cut}"
    if not shape.beside:
        return head, f"    {change}"
    test = f"torch.is_tensor({value})" if shape.beside == "any" else f"{value} is not None"
    return head, f"    if {test}:", f"        {change}"


def likely_shape(element: str, bridge: Bridge | None) -> Shape:
    """What holds an element is likely to be: a number picks from a tuple, or from a list if statements fill it one by
    one; a key picks from a dict. Without an element it is the value itself."""
    if bridge is not None and bridge.of_parts:
        return holding("tuple")
    if element[:2] in ("['", '["'):
        return holding("dict")
    if not element or ":" in element or "," in element:  # what is sliced is a tensor
        return TENSOR
    return holding("list" if bridge is not None and bridge.filled else "tuple")
