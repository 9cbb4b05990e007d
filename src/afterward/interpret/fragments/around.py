"""What stands around pasted code: prompts, Markdown, diffs, quotes, line numbers, tracebacks."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

_FENCE = re.compile(r"^\s*(```|~~~)")
_PYTHON_PROMPT = re.compile(r"^\s*(>>>|\.\.\.)( |$)")
_NOTEBOOK_PROMPT = re.compile(r"^\s*In\s*\[[\s\d]*\]:?\s?")
_NOTEBOOK_MORE = re.compile(r"^\s*\.{3,}:\s?")
_NOTEBOOK_RESULT = re.compile(r"^\s*Out\s*\[[\s\d]*\]:")
_NUMBERED = re.compile(r"^\s*(?:-+>)?\s*(\d+)(?:\s*[:|│]\s?|[.)]\s?|\s|$)")
_MARGINS = frozenset(">+|│")
_HUNK = re.compile(r"^(@@ |diff --git |index [0-9a-f]|--- |\+\+\+ )")
BLOCK = re.compile(r"^\s*(async\s|for\b|while\b|if\b|elif\b|else\b|with\b|def\b|class\b|try\b|except\b|finally\b)")
_FEWEST_NUMBERED = 3
_MOST_QUOTED = 3  # answers to answers
_LANGUAGE = re.compile(r"^[\w+#-]*\s*$")  # what follows the sign of a fence
_TICKED = re.compile(r"^\s*`(?!`)")
_OTHER_COMMENT = re.compile(r"^(\s*)//")
_FRAME = re.compile(
    r"^\s*(?:<ipython-input-|Cell In|Input In|File \"(?!.*(?:-packages|/lib/)))(.*)$"
    r"|^\s*File \"|^\s*[~/.\w-]*\.py in \w+\("
)
_RAISED = re.compile(r"^\s*(?:-{10,}\s*$|Traceback \(most|\w*(?:Error|Exception)(?::\s|\s+Traceback \(most))")
_ARROW = re.compile(r"^-+>\s*\d+ ")
_SHOWN = re.compile(r"^\s*(?:-+>\s*)?\d+(?: |$)")
# What PyTorch says, in all its versions.
_SECOND_PASS = "backward through the graph a second time"
_IN_PLACE = re.compile(r"modified by an inplace operation|inplace\s?操作")
_LEAF = re.compile(r"a (?:view of a )?leaf Variable that requires grad (?:is being|has been) used in an in-place")
_PROSE = re.compile(r"^\s*(?:[^\s=()]+\s+){3,}[^\s=()]+\s*$")


@dataclass(slots=True)
class Line:
    """A line of the text, and how many columns were taken away in front of it."""

    text: str
    moved: int = 0
    was_prose: bool = False  # a sentence stood here, between pieces of code
    was_no_code: bool = False  # it stood between code, and could not be read as such

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()

    def strip(self, columns: int) -> None:
        self.text, self.moved = self.text[columns:], self.moved + columns

    def clear(self) -> None:
        self.was_prose = self.was_prose or bool(_PROSE.match(self.text))
        self.text, self.moved = "", 0


@dataclass(frozen=True, slots=True)
class Around:
    """What the text around the code tells."""

    sentences: tuple[int, ...] = ()  # the lines of those between pieces of code
    second_pass: bool = False  # it quotes the error of a graph that is gone
    in_place: bool = False  # of a value that was overwritten
    leaf: bool = False  # of a parameter that is written in place
    unseen: frozenset[str] = frozenset()  # names that are imported from modules of the program, which was not copied


def note_around(tree: ast.Module, text: str, lines: list[Line]) -> None:
    sentences = tuple(number for number, line in enumerate(lines, 1) if line.was_prose)
    in_place, leaf = _IN_PLACE.search(text) is not None, _LEAF.search(text) is not None
    tree._around = Around(sentences, _SECOND_PASS in text, in_place, leaf)  # type: ignore[attr-defined]


def around_of(tree: ast.Module) -> Around:
    known: Around = getattr(tree, "_around", Around())
    return known


def _only_fenced(lines: list[Line]) -> None:
    """Of a Markdown text, what is between fences."""
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line.text)]
    inside = False
    for line in lines if fences else ():
        fence = _FENCE.match(line.text)
        if fence is not None:
            inside = not inside
            if inside and not _LANGUAGE.match(line.text[fence.end() :]):
                line.strip(fence.end())  # code on the line of the fence
            else:
                line.clear()
        elif not inside:
            line.clear()


def _without_ticks(lines: list[Line]) -> None:
    """Code in single backticks, of which each line has its own, or all lines one."""
    for line in lines if any(_TICKED.match(line.text) for line in lines) else ():
        match = _TICKED.match(line.text)
        if match is not None:
            line.strip(match.end())
        if line.text.count("`") == 1 and line.text.rstrip().endswith("`"):
            line.text = line.text.rstrip()[:-1]


def _with_own_comments(lines: list[Line]) -> None:
    """A comment as other languages have it."""
    for line in lines:
        line.text = _OTHER_COMMENT.sub(r"\1# ", line.text)


def _without_traceback(lines: list[Line]) -> None:
    """What an error printed; where nothing else was copied, the lines of the program that it shows."""
    shown: list[Line] = []
    told: list[Line] = []  # all the rest of what was printed
    frame: re.Match[str] | None = None
    for line in lines:
        began = _FRAME.match(line.text)
        if began is not None or _RAISED.match(line.text):
            told.append(line)
            frame = began
        elif frame is not None and (_SHOWN.match(line.text) or frame[0].lstrip().startswith("File")):
            (shown if frame[1] is not None else told).append(line)
        if frame is not None and line.is_blank:
            frame = None
    kept = {id(line) for line in (*told, *shown)}
    if not told or any(not line.is_blank and id(line) not in kept for line in lines):
        told += shown
        shown = []
    for line in told:
        line.clear()
    for line in shown:
        match = _SHOWN.match(line.text)
        line.strip(match.end() if match is not None else 0)


def _patched(lines: list[Line]) -> None:
    """Of a diff, the code as it is after it."""
    code = [line for line in lines if not line.is_blank and not _HUNK.match(line.text)]
    if {"+", "-"} <= {line.text[0] for line in code} <= {"+", "-", " "}:
        for line in lines:
            if _HUNK.match(line.text) or line.text.startswith("-"):
                line.clear()
            else:
                line.strip(1)


def _without_margin(lines: list[Line]) -> None:
    """Code that was quoted (`>`, `>>`), or copied out of a diff (`+`): each line has the same sign in front."""
    for _ in range(_MOST_QUOTED):
        code = [line for line in lines if not line.is_blank]
        signs = {line.text[line.indent] for line in code}
        session = all(line.text[line.indent :].startswith(">>>") for line in code)
        if len(code) < _FEWEST_NUMBERED or len(signs) != 1 or not signs <= _MARGINS or session:
            return
        for line in code:
            line.strip(line.indent + 1)


def _without_prompts(lines: list[Line]) -> None:
    """Of a session, what was typed."""
    if any(line.text.lstrip().startswith(">>>") for line in lines):
        _keep_typed(lines, lambda text: _PYTHON_PROMPT.match(text))
    prompted = [line for line in lines if _NOTEBOOK_PROMPT.match(line.text)]
    if any(line.text[match.end() :].strip() for line in prompted if (match := _NOTEBOOK_PROMPT.match(line.text))):
        _keep_typed(lines, lambda text: _NOTEBOOK_PROMPT.match(text) or _NOTEBOOK_MORE.match(text))
    else:  # each prompt on a line of its own, the cell below it
        for line in lines if prompted else ():
            if _NOTEBOOK_PROMPT.match(line.text) or _NOTEBOOK_RESULT.match(line.text):
                line.clear()


def _keep_typed(lines: list[Line], prompt: Callable[[str], re.Match[str] | None]) -> None:
    for line in lines:
        match = prompt(line.text)
        if match is None:
            line.clear()
        else:
            line.strip(match.end())


def _without_numbers(lines: list[Line]) -> None:
    """Code that was copied with its line numbers."""
    if sum(_ARROW.match(line.text) is not None for line in lines) == 1:  # out of a traceback: the rest is no code
        for line in lines:
            if not _SHOWN.match(line.text):
                line.clear()
    code = [line for line in lines if not line.is_blank]
    matches = [_NUMBERED.match(line.text) for line in code]
    numbers = [int(match[1]) for match in matches if match is not None]
    if len(code) < _FEWEST_NUMBERED or len(numbers) < len(code) or numbers != sorted(set(numbers)):
        return
    for line, match in zip(code, matches, strict=True):
        assert match is not None
        line.strip(match.end())


def _dedented(lines: list[Line]) -> None:
    """Everything to the left; the first line may have been copied without its indent."""
    first, *rest = [line for line in lines if not line.is_blank] or [Line("")]
    least = min((line.indent for line in rest), default=0)
    if first.indent >= least or BLOCK.match(first.text):
        least = min(least, first.indent)
    for line in lines:
        line.strip(min(least, line.indent))


CLEANED = (
    _patched,
    _without_margin,
    _only_fenced,
    _without_ticks,
    _without_margin,
    _without_traceback,
    _without_prompts,
    _without_numbers,
    _with_own_comments,
    _dedented,
)
