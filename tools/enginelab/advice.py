"""PyTorch's advice followed: `retain_graph=True` on the call that freed, and what the program does then."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from enginelab import witness
from enginelab.reports import Finding, ask

PARTS = 4  # calls that may have freed a part each
FAILS_HERE = ("fails_here", "fails_here_unseen")
VIEWS = ("one_of_several_views_written",)  # the in-place error of a saved view, in torch's other words
# What is said to run, with no word of a later step: the same call goes on to run.
GOES_ON = ("doubles", "mixes", "unstepped", "cleared", "counts_again", "flat", "all_steps", "old_values", "reads",
           "right", "right_returned", "right_first_returned", "right_add_up")  # fmt: skip
FAILS_LATER = ("fails_next", "runs_then_fails", "mixes_then_fails")


def follow(folder: Path, found: Finding) -> dict[str, Any] | None:
    """The report of `run` on the program with the advice followed; None where its line shows no such call."""
    place = found.get("freed")
    file = folder / place["file"] if place else None
    if place is None or file is None or not file.is_file():
        return None
    before = file.read_text(encoding="utf-8")
    changed = retained(before, place["line"], place["end_line"])
    if changed is None:
        return None
    failed = len(witness.watch(folder)) - 1
    file.write_text(changed, encoding="utf-8")
    try:
        after = _on_all(file, found, ask("run", folder))
        if after is not None and found.get("reused") and file.name == "buggy.py":
            rows, line = witness.watch(folder), found["reused"]["line"]
            after["seen"] = witness.seen_between(rows, failed, place["line"], line)
            if 0 <= failed < len(rows) and rows[failed][0] == line:
                after["fails_again"] = after["program"]["error"] is not None and len(rows) - 1 == failed
                after["goes_on"] = any(row[0] == line for row in rows[failed + 1 :])
        return after
    finally:
        file.write_text(before, encoding="utf-8")


def _on_all(file: Path, found: Finding, after: dict[str, Any] | None) -> dict[str, Any] | None:
    """Where several calls have freed a part each, the advice is followed on all of them, one after the other."""
    for _ in range(PARTS):
        errors = [one for one in (after or {}).get("findings", []) if one["severity"] == "error"]
        other = next((one["freed"] for one in errors if _same_pass(one, found) and one.get("freed")), None)
        text = file.read_text(encoding="utf-8")
        changed = retained(text, other["line"], other["end_line"]) if other is not None else None
        if changed is None or (after or {})["program"]["error"] != "second_backward":
            break
        file.write_text(changed, encoding="utf-8")
        after = ask("run", file.parent)
    return after


def retained(text: str, first: int, last: int) -> str | None:
    """The text with `retain_graph=True` in each pass that is called on these lines."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and first <= node.lineno <= last]
    passes = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "grad")]
    lines = text.encode().splitlines(keepends=True)
    changed = False
    for call in sorted(passes, key=lambda one: (one.end_lineno or 0, one.end_col_offset or 0), reverse=True):
        if call.end_lineno is None or call.end_col_offset is None:
            continue
        if any(keyword.arg in ("retain_graph", None) for keyword in call.keywords):
            continue
        line = lines[call.end_lineno - 1]
        head, tail = line[: call.end_col_offset - 1], line[call.end_col_offset - 1 :]
        comma = b"" if head.rstrip().endswith((b"(", b",")) else b", "
        lines[call.end_lineno - 1] = head + comma + b"retain_graph=True" + tail
        changed = True
    return b"".join(lines).decode() if changed else None


def contradicts(found: Finding, after: dict[str, Any]) -> str:
    """How what happened differs from what the finding says of the advice; empty where it does not."""
    claim, error = found.get("retain_graph"), after["program"]["error"]
    failing = [one for one in after["findings"] if one["severity"] == "error" and not one.get("caught")]
    again = after.get("fails_again", any(_same_pass(one, found) for one in failing))
    if claim in FAILS_HERE:
        late = again or (found.get("certainty") == "predicted" and any(_same_line(one, found) for one in failing))
        as_said = (late and error == "inplace") or error in VIEWS
        return "" if as_said else f"said: fails at once; happened: {error or 'it runs'}"
    if again and error in ("second_backward", "inplace"):
        return f"said: {claim}; happened: fails at once ({error})"
    if claim in FAILS_LATER and error is None and after.get("goes_on", True):  # the loop may end before
        return f"said: {claim}; happened: it runs"
    if claim in GOES_ON and any(_same_fault(one, found) for one in failing):
        return f"said: {claim}; happened: it fails later ({error})"
    seen = after.get("seen")
    if seen is not None and seen.cleared is not None and witness.CLEARED.get(claim, seen.cleared) is not seen.cleared:
        return f"said: {claim}; the gradients of the first pass were {'' if seen.cleared else 'not '}cleared"
    if seen is not None and witness.CHANGED.get(claim, seen.changed) is not seen.changed:
        return f"said: {claim}; the parameters were {'' if seen.changed else 'not '}changed"
    return ""


def _same_fault(one: Finding, other: Finding) -> bool:
    """Is it the same part of the graph, met again by the same call in a later step, still freed or spoilt?"""
    return _same_line(one, other) and all(_line(one, role) == _line(other, role) for role in ("built", "freed"))


def _line(one: Finding, role: str) -> int | None:
    return one[role]["line"] if one.get(role) else None


def _same_pass(one: Finding, other: Finding) -> bool:
    return _same_line(one, other) and one["reused"]["step"] == other["reused"]["step"]


def _same_line(one: Finding, other: Finding) -> bool:
    """What was predicted may come true in a later step than the first in which it can."""
    first, second = one.get("reused"), other.get("reused")
    return bool(first and second) and first["line"] == second["line"]
