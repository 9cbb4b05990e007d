"""Reads code as it is pasted: indented, with prompts, in Markdown fences, cut off in the middle.

Each line stays in its place, so a line of what was read is the same line of what was given; how far its text was moved
to the left is kept with it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TypeGuard

from afterward.follow.nodes import FUNCTIONS, LOOPS
from afterward.interpret.fragments.around import BLOCK, CLEANED, Line, around_of, note_around

_MOST_REPAIRS = 60  # each mends one line; text that needs more is not code
_ORPHAN = re.compile(r"^(\s*)(elif\b(.*):|else\s*:|except\b.*:|finally\s*:)(.*)$")
_HEAD = re.compile(r"^(\s*(?:async\s+)?def\s+\w+\()(.*)(\).*)$")
_PLAIN = str.maketrans({"\u00a0": " ", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u200b": " "})
_NO_BRACKETS = re.compile(r"\"[^\"]*\"|'[^']*'|#.*")
_CLOSES = {"(": ")", "[": "]", "{": "}"}
_CUT_OFF = 5  # lines at the end that may be missing their rest


@dataclass(frozen=True, slots=True)
class Reading:
    """Text that parses, by how many columns each of its lines was moved to the left, and the lines that are no code."""

    text: str
    tree: ast.Module
    moved: tuple[int, ...]
    no_code: tuple[int, ...]


def read_fragment(text: str) -> Reading | None:
    """The text as code; None where there is too little in it that is."""
    lines = [Line(one) for one in text.translate(_PLAIN).replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    tree = _parsed(lines)
    if tree is not None:
        return _reading(lines, tree, text)
    for clean in CLEANED:
        clean(lines)
    code = sum(not line.is_blank for line in lines)
    dropped = 0
    for _ in range(_MOST_REPAIRS):
        try:
            return _reading(lines, ast.parse(_joined(lines)), text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if not isinstance(error, SyntaxError) or dropped * 2 > code:
                return None
            dropped += _repair(lines, error)
    return None


def _reading(lines: list[Line], tree: ast.Module, text: str) -> Reading:
    note_around(tree, text, lines)
    no_code = tuple(number for number, line in enumerate(lines, 1) if line.was_no_code)
    return Reading(_joined(lines), tree, tuple(line.moved for line in lines), no_code)


def _joined(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)


def _parsed(lines: list[Line]) -> ast.Module | None:
    try:
        return ast.parse(_joined(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# Lines that do not parse


def _repair(lines: list[Line], error: SyntaxError) -> int:
    """Mend the line that an error is about. Returns how many lines were given up for that."""
    number = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
    while number > 0 and lines[number].is_blank:
        number -= 1
    line = lines[number]
    reason = error.msg or ""
    orphan = _ORPHAN.match(line.text)
    head = _HEAD.match(line.text)
    if head is not None and "..." in head[2]:
        kept = [one for one in head[2].split(",") if one.strip() != "..."]
        line.text = f"{head[1]}{','.join(kept)}{head[3]}"
        return 0
    if isinstance(error, TabError):
        return _without_tabs(lines)
    if isinstance(error, IndentationError):
        if "expected an indented block" in reason:
            return _give_body(lines, number)
        if "unexpected indent" in reason:
            return _pull_left(lines, number)
        return _to_outer_level(lines, number)
    if orphan is not None:
        space, _, test, rest = orphan.groups()
        line.text = f"{space}if {test.strip() if test else 'True'}:{rest}"
        return 0
    if "expected ':'" in reason and BLOCK.match(line.text):
        line.text = line.text.split("#")[0].rstrip() + ":"
        return 0
    return _repair_bracket(lines, number) or _give_up(line)


def _repair_bracket(lines: list[Line], number: int) -> int:
    """A bracket that is open here: closed where the next line begins a statement, else its lines are no code."""
    opened: list[tuple[int, str]] = []
    for at, line in enumerate(lines[: number + 1]):
        for sign in _NO_BRACKETS.sub("", line.text):
            if sign in _CLOSES:
                opened.append((at, sign))
            elif opened and sign == _CLOSES[opened[-1][1]]:
                opened.pop()
    if not opened:
        return 0
    first = opened[0][0]
    line = lines[first]
    below = next((one for one in lines[first + 1 :] if not one.is_blank), None)
    if below is not None and below.indent <= line.indent and below.text.strip()[0] not in ")]}":
        missing = "".join(_CLOSES[sign] for at, sign in reversed(opened) if at == first)
        line.text = line.text.split("#")[0].rstrip() + missing
        return 1
    if len(lines) - first <= _CUT_OFF + sum(one.is_blank for one in lines[first:]):
        number = len(lines) - 1
    dropped = [one for one in lines[first : number + 1] if not one.is_blank]
    for one in dropped:
        one.clear()
        one.was_no_code = True
    return len(dropped)


def _without_tabs(lines: list[Line]) -> int:
    for line in lines:
        line.text = line.text.replace("\t", "    ")
    return 0


def _give_body(lines: list[Line], number: int) -> int:
    """A head without a body, cut off or with only a comment below."""
    heads = [one for one in range(number + 1) if lines[one].text.split("#")[0].rstrip().endswith(":")]
    if not heads:
        return _give_up(lines[number])
    head = lines[heads[-1]]
    head.text = head.text.split("#")[0].rstrip() + " pass"
    return 0


def _pull_left(lines: list[Line], number: int) -> int:
    """A block that is further to the right than what stands before it: the first line was copied without its indent."""
    before = next((one.indent for one in reversed(lines[:number]) if one.text.split("#")[0].strip()), 0)
    own = lines[number].indent
    for line in lines[number:]:
        if not line.is_blank and line.indent < own:
            break
        line.strip(min(own - before, line.indent))
    return 0


def _to_outer_level(lines: list[Line], number: int) -> int:
    """A line between two levels: to the outer one."""
    line = lines[number]
    levels = {one.indent for one in lines[:number] if not one.is_blank and one.indent < line.indent}
    if not levels:
        return _give_up(line)
    line.strip(line.indent - max(levels))
    return 0


def _give_up(line: Line) -> int:
    """A line that is no code: nothing in its place, or a head that does nothing if there may be a body below."""
    space = " " * line.indent
    opens = line.text.rstrip().endswith(":") and line.indent
    line.clear()
    line.was_no_code = True
    line.text = f"{space}if True:" if opens else f"{space}pass"
    return 1


# A body without its loop

_DEFINES = (*FUNCTIONS, ast.ClassDef)


def is_body(tree: ast.Module) -> bool:
    """Are these statements that train, in no loop, with an optimizer which they do not make? Then the loop around them
    was not copied."""
    body = [one for one in tree.body if not isinstance(one, _DEFINES)]
    if not _called(body, "backward") or _called(body, "backward", LOOPS):
        return False
    made = {one.id for part in body for one in ast.walk(part) if isinstance(one, ast.Name) and _is_stored(one)}
    return any(root not in made for root in _called(body, "step"))


def snippets(tree: ast.Module) -> list[list[ast.stmt]]:
    """The statements, apart where a sentence stands between them: a program in pieces, or one piece in two versions."""
    sentences = around_of(tree).sentences
    found: dict[int, list[ast.stmt]] = {}
    for one in tree.body:
        found.setdefault(sum(line < one.lineno for line in sentences), []).append(one)
    return list(found.values())


def clears_gradients(tree: ast.Module) -> bool:
    """Does any statement clear gradients? Where none does, the one that does was not copied."""
    attributes = {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)}
    by_hand = (one for one in ast.walk(tree) if isinstance(one, ast.Attribute) and one.attr == "grad")
    return "zero_grad" in attributes or any(isinstance(one.ctx, ast.Store) for one in by_hand)


def ends_in_pass(tree: ast.Module) -> bool:
    """Is the last line a pass? Then what comes after it was not copied."""
    plain = [one for one in ast.walk(tree) if isinstance(one, ast.Expr)]
    last = max((one.lineno for one in ast.walk(tree) if isinstance(one, ast.stmt)), default=0)
    return any(one.lineno == last and _called([one], "backward") for one in plain)


def begun_before_loops(tree: ast.Module) -> set[str]:
    """The names that only loops among these statements set: `total = total + loss` there means that a line before the
    loop began it, which was not copied, and which may begin it again each time."""
    inside = {one.id for part in tree.body if isinstance(part, LOOPS) for one in ast.walk(part) if _is_name_set(one)}
    rest = [part for part in tree.body if not isinstance(part, (*LOOPS, *_DEFINES))]
    return inside - {one.id for part in rest for one in ast.walk(part) if _is_name_set(one)}


def _is_name_set(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and _is_stored(node)


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _called(body: list[ast.stmt], method: str, inside: tuple[type[ast.AST], ...] = (ast.stmt,)) -> list[str]:
    """The names at the beginning of what a method is called on, in statements of some kind."""
    found = []
    for one in (node for part in body for node in ast.walk(part) if isinstance(node, inside)):
        for call in ast.walk(one):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == method:
                found.append(_root(call.func))
    return found


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
