"""A program as Python source: what happens when it is run, and what `afterward check` says of it."""

from __future__ import annotations

import traceback
import warnings

from afterward.interpret import Sources, interpret_file, parse

FILE = "/program.py"
_MESSAGES = {
    "second time": "second_backward",
    "modified by an inplace": "inplace",
    "does not require grad and does not have": "no_grad",
    "a view of a leaf Variable that requires grad is being used": "view-of-leaf-written-in-place",
    "a leaf Variable that requires grad is being used": "leaf-written-in-place",
    "a function that returns multiple views": "one-of-several-views-written",
    "was created in no_grad mode": "view-of-no-grad-written",
    "'NoneType'": "grad-is-none",
}

Fault = tuple[int, str]  # the line, and the kind of error


def what_happens(text: str) -> Fault | None:
    """The line and kind of the error that ends the program."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, FILE, "exec"), {"__name__": "__main__"})
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
        line = (lines[0] or 0) if lines else 0
        kind = next((name for part, name in _MESSAGES.items() if part in str(error)), "another")
        if kind == "grad-is-none" and ".grad" not in text.splitlines()[line - 1]:
            kind = "another"  # what `autograd.grad(..., allow_unused=True)` returned
        return line, kind
    return None


def what_is_said(text: str) -> Fault | None:
    data = text.encode()
    tree = parse(data, FILE)
    sources = Sources()
    sources.add(FILE, data, tree)
    for found in interpret_file(FILE, tree, sources).findings:
        for refusal in found.history.raised:
            return refusal.where.levels[0].site.line, refusal.page
        late = next(found.history.broken_passes())
        assert late.where is not None
        assert late.error is not None
        return late.where.levels[0].site.line, late.error
    return None


def verdict(text: str) -> str:
    """How the two lie to each other; "WRONG" where something is said that does not happen."""
    said, happens = what_is_said(text), what_happens(text)
    if said is None:
        if happens is None:
            return "nothing happens, nothing is said"
        return "another error" if happens[1] == "another" else "happens, and nothing is said"
    if said == happens:
        return "said, and so it is"
    if happens is not None and happens[1] == "another" and (happens[0] <= said[0] or "\nfor " in text):
        return (
            "ended before, by something else"  # a wrong shape, say, or an iteration before: shapes are not interpreted
        )
    return "WRONG"
