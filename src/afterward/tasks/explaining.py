"""What `explain` gives for a code, a name, a message of PyTorch's or a whole traceback."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from afterward.errors import UnknownRule, alike

if TYPE_CHECKING:
    from afterward.messages import Page

_FILE = re.compile(r'^\s*File "([^"<>]+)", line \d+', re.MULTILINE)
_LIBRARY = re.compile(r"[\\/](site-packages|dist-packages|lib[\\/]python3[^\\/]*)[\\/]")
_STATEMENTS = ("import ", "from ", "for ", "def ", "class ", "while ", "loss.backward", "with ")  # what code has


@dataclass(frozen=True, slots=True)
class Explanation:
    """A page, the rules that explain the same in a run, and the program of the traceback, where one was given."""

    page: str
    rules: tuple[str, ...] = ()
    program: str | None = None


def explain(text: str) -> Explanation:
    """The page behind what the reader has: a code or a name, a message, a traceback."""
    from afterward import messages
    from afterward.rules import all_rules, find_rule

    wanted = text.strip()
    if not wanted:
        raise UnknownRule(
            "nothing to explain: give a code, a name or an error message; `afterward rules` lists the rules"
        )
    with suppress(UnknownRule):
        return Explanation(find_rule(wanted).page())
    page = messages.page_named(wanted) or messages.find(text) or messages.find_part(text)
    if page is None:
        names = [*(rule.code for rule in all_rules()), *(rule.name for rule in all_rules())]
        names += [known.name for known in messages.all_pages()]
        raise UnknownRule(_unknown(wanted, names))
    known = {rule.code for rule in all_rules()}
    return Explanation(page.shown, tuple(code for code in page.rules if code in known), _program(text))


def _unknown(wanted: str, names: list[str]) -> str:
    short = wanted if len(wanted) <= 60 else wanted[:57] + "..."
    said = f"no rule and no known PyTorch message fits {short!r}"
    begun = [name for name in names if name.startswith(wanted.lower())]
    meant = f": did you mean {' or '.join(begun)}?" if 0 < len(begun) < 4 else alike(wanted, names)
    return said + (meant or "; `afterward rules` lists the rules")


def _program(text: str) -> str | None:
    """The file that a traceback begins in: what was run, as seen from here."""
    own = [file for file in _FILE.findall(text) if not _LIBRARY.search(file)]
    return own[0].removeprefix(os.getcwd() + os.sep) if own else None


def message_in(text: str) -> Page | None:
    """The page of a pasted message or traceback; None for a text that is code."""
    from afterward import messages

    is_code = any(line.lstrip().startswith(_STATEMENTS) for line in text.splitlines())
    page = messages.find(text)
    return page if page is not None and (not is_code or "Traceback (most recent call last)" in text) else None
