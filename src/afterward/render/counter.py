"""An iteration as the program itself counts it: step 2 of `for epoch in range(3)` is the one in which `epoch` is 1."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from afterward.model.site import Site

BARS = frozenset({"tqdm", "trange"})  # show progress and hand on what they count


class Counter(NamedTuple):
    """A loop's own variable, and what it holds."""

    name: str
    value: int


def step_of(site: Site, source: Callable[[str], str]) -> str:
    """What stands behind a place, as in ", step 2 (`epoch` = 1)"; empty where it lies in no step."""
    if site.step is None or site.cell == site.file:
        return ""
    counter = counter_at(site, source)
    own = f" (`{counter.name}` = {counter.value})" if counter is not None else ""
    return f", {site.step_name}{own}"


def counter_at(site: Site, source: Callable[[str], str]) -> Counter | None:
    """The variable that counts the loop of this site's step, where its head shows from what number on."""
    if site.step is None or site.counted_by is None or site.cell:
        return None
    head = _head(source(site.counted_by.file), site.counted_by.line)
    return _counted(head.target, head.iter, site.step) if head is not None else None


def _head(text: str, line: int) -> ast.For | None:
    """The loop that begins on a line: its head is read, for the rest of the file may not parse."""
    lines = text.splitlines()[line - 1 : line + 4]
    for count in range(1, len(lines) + 1):
        try:
            (found,) = ast.parse("\n".join(part.strip() for part in lines[:count]) + "\n pass").body
        except (SyntaxError, ValueError):
            continue
        return found if isinstance(found, ast.For) else None
    return None


def _counted(target: ast.expr, over: ast.expr, step: int) -> Counter | None:
    if not isinstance(over, ast.Call) or not over.args:
        return None
    called = ast.unparse(over.func).rpartition(".")[2]
    if called == "enumerate" and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
        given = over.args[1:2] or [word.value for word in over.keywords if word.arg == "start"]
        return _from(target.elts[0].id, given[0] if given else None, None, step)
    if called in BARS and not isinstance(over.args[0], ast.Constant | ast.Name):
        return _counted(target, over.args[0], step)
    if called in ("range", "trange") and isinstance(target, ast.Name):
        start = over.args[0] if len(over.args) > 1 else None
        return _from(target.id, start, over.args[2] if len(over.args) > 2 else None, step)
    return None


def _from(name: str, start: ast.expr | None, width: ast.expr | None, step: int) -> Counter | None:
    try:
        first = ast.literal_eval(start) if start is not None else 0
        each = ast.literal_eval(width) if width is not None else 1
    except ValueError:  # begins at a value that the head does not show
        return None
    shown = name.strip("_") and isinstance(first, int) and isinstance(each, int)  # `_` is a count that nothing reads
    return Counter(name, first + (step - 1) * each) if shown else None
