"""Computes with the numbers, texts and lists of a program, in one place: nothing here can take long or grow large.

The program may well compute `math.factorial(10**8)`; we do not, and take it for unknown. How large a result would be is
estimated before it is computed. Numbers count in bits, texts and containers in elements.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

BITS = 4_096  # of a number: no training loop counts further
ELEMENTS = 10_000  # of a text or container
ERRORS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError, OverflowError)

_TEXTS = (str, bytes, bytearray)
_SEQUENCES = (*_TEXTS, list, tuple, deque)
_SIZED = (*_SEQUENCES, set, frozenset, dict)
_WIDTH = re.compile(r"\d{4,}|\*")  # in a format: how wide, or that the width is given elsewhere
_REACHING = re.compile(r"\{[^{}:]*[.\[]|\{[^{}]*\{")  # in a field of `format`: an attribute, an item, another field


class TooLarge(ValueError):
    """The result would be larger than anything that a program should need to be understood."""


OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}  # fmt: skip


def compute(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
    """What a function of Python's own makes of some values. Raises one of ERRORS where that would be an error there, or
    where it would be too large."""
    _bounded(args)
    estimate = _ESTIMATES.get(function)
    if estimate is not None and estimate(*args) > BITS:
        raise TooLarge
    return function(*args, **(kwargs or {}))


def method(owner: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A method of a text or container. Raises as `compute` does."""
    if (name.startswith("__") and name not in _PLAIN) or (isinstance(owner, _TEXTS) and name in _PADDING):
        return _formatted(owner, args, kwargs) if name == "format" else _too_large()
    grows = _GROWTH.get(name)
    if grows is not None and grows(owner, *args) > ELEMENTS:
        raise TooLarge
    return getattr(owner, name)(*args, **kwargs)


def _formatted(text: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """`text.format(...)` of texts and numbers, where its fields name no attributes and no widths that are given
    elsewhere."""
    values = [*args, *kwargs.values()]
    plain = isinstance(text, str) and all(isinstance(one, (str, int, float)) for one in values)
    if not plain or _WIDTH.search(text) or _REACHING.search(text):
        raise TooLarge
    _bounded(values)
    if len(text) + text.count("{") * max([1_000, *map(_length, values), *map(_bits, values)]) > 10 * ELEMENTS:
        raise TooLarge  # a field without a given width of four digits has a thousand characters at most, or its value's
    return str(text.format(*args, **kwargs))


def _too_large() -> Any:
    raise TooLarge


def named(name: str) -> Callable[..., Any] | None:
    """A function of `math`, by its name, if it is one that computes a number from numbers."""
    found = getattr(math, name, None)
    return found if callable(found) and name not in _OF_MANY else None


def joined_size(one: Any, other: Any) -> int:
    """How many elements two containers have together."""
    return _length(one) + _length(other)


def contains(box: Any, item: Any) -> bool:
    """`item in box`; a range is not walked for what is no whole number."""
    if isinstance(box, range) and not isinstance(item, int):
        return isinstance(item, float) and item.is_integer() and int(item) in box
    found: bool = item in box
    return found


# How large it would be


def _bounded(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, int) and value.bit_length() > BITS:
            raise TooLarge
        if isinstance(value, _SIZED) and len(value) > ELEMENTS:
            raise TooLarge


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 64


def _length(value: Any) -> int:
    return len(value) if isinstance(value, _SIZED) else 0


def _product(left: Any, right: Any) -> float:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, _SEQUENCES) and isinstance(other, int):
            return len(one) * max(other, 0) * BITS / ELEMENTS
    return _bits(left) + _bits(right)


def _sum(left: Any, right: Any) -> float:
    return joined_size(left, right) * BITS / ELEMENTS


def _power(base: Any, exponent: Any, modulus: Any = None) -> float:
    if modulus is not None or not (isinstance(base, int) and isinstance(exponent, int)):
        return 0
    return _bits(base) * abs(exponent) if abs(base) > 1 else 0


def _shift(value: Any, by: Any) -> float:
    return _bits(value) + by if isinstance(by, int) and value else 0


def _remainder(left: Any, right: Any) -> float:
    """`text % values` formats."""
    if not isinstance(left, _TEXTS):
        return 0
    text = left if isinstance(left, str) else left.decode("latin-1")
    return BITS + 1 if _WIDTH.search(text) else 0


def _rounded(value: Any, digits: Any = None) -> float:
    return -digits * 4 if isinstance(value, int) and isinstance(digits, int) else 0


def _factorial(number: Any) -> float:
    return number * _bits(number) if isinstance(number, int) else 0


def _chosen(number: Any, count: Any = None) -> float:
    count = number if count is None else min(count, number - count)
    return float(count * _bits(number))


def _permuted(number: Any, count: Any = None) -> float:
    return float((number if count is None else min(count, number)) * _bits(number))


def _together(*numbers: Any) -> float:
    return sum(map(_bits, numbers))


def _bytes(value: Any = b"", *rest: Any) -> float:
    return value * BITS / ELEMENTS if isinstance(value, int) else 0


_ESTIMATES: dict[Callable[..., Any], Callable[..., float]] = {
    operator.mul: _product, operator.add: _sum, operator.pow: _power, operator.lshift: _shift, operator.mod: _remainder,
    builtins.pow: _power, builtins.round: _rounded, builtins.bytes: _bytes, builtins.bytearray: _bytes,
    math.factorial: _factorial, math.comb: _chosen, math.perm: _permuted, math.lcm: _together,
}  # fmt: skip
_OF_MANY = frozenset({"fsum", "prod", "dist", "sumprod"})  # they take iterables, whose elements are not ours to know
_PLAIN = frozenset({"__len__", "__contains__", "__getitem__", "__setitem__", "__delitem__"})
_PADDING = frozenset({"ljust", "rjust", "center", "zfill", "format", "expandtabs", "format_map"})
_GROWTH: dict[str, Callable[..., float]] = {
    "extend": lambda owner, more=(), *rest: joined_size(owner, more),
    "extendleft": lambda owner, more=(), *rest: joined_size(owner, more),
    "update": lambda owner, *more: len(owner) + sum(map(_length, more)),
    "union": lambda owner, *more: len(owner) + sum(map(_length, more)),
    "join": lambda owner, parts=(), *rest: len(owner) * len(parts) + sum(map(_length, parts)),
    "replace": lambda owner, old="", new="", *rest: len(owner) + (len(owner) + 1) * _length(new),
    "translate": lambda owner, table=(), *rest: len(owner) * max([1, *map(_length, dict(table).values())]),
}
