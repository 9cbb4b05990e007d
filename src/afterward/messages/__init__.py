"""What autograd can say: a page for each message that PyTorch raises or warns about graphs, leaves and gradients.

A page is a Markdown file under `pages`: the text of the message (`...` stands for anything), the sentence of the law
that it is about, the rules that explain it in a run, why, a program that raises it and one that is right. The tests
run both on real torch. Nothing here needs torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from importlib import resources

_FIELD = re.compile(r"^- (message|law|about|rule|in a run): (.*)$", re.MULTILINE)
_BLOCK = re.compile(r"^## (Raises it|Right)\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COLOUR = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033)\[[0-9;?]*[A-Za-z]")  # as it is, or as a notebook's file has it
_TAG = re.compile(r"</?\w+(?: [^<>\n]*)?>")
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "`": None, "*": None})
_KIND = re.compile(
    r"^(?:[\w.]+(?:Error|Exception|Warning):)?[\s.\u2026]*|[\s.\u2026]+$"
)  # around a piece that was cut out
# Between two words: spaces; or the end of a line, which a frame may close, and what stands before every line: a rank, a
# time, the name of a container, a mark of quotation.
_GAP = r"(?:\s+|[ \t]*(?:[^\w\s]{1,3}[ \t]*)?\n[^\n]{0,60}?)"
ANYTHING = "..."
SHORTEST = 12  # characters of a piece of a message: fewer would fit many


@dataclass(frozen=True, slots=True)
class Page:
    """One message: `law` is the number of a sentence of the law, or `leaf` for the rules of leaves."""

    name: str
    messages: tuple[str, ...]
    law: str
    rules: tuple[str, ...]
    why: str
    raises: str = ""
    right: str = ""
    text: str = ""
    about: str = "tensor"  # what explains it: a tensor of the statement, or the run before it
    in_a_run: tuple[str, ...] = ()  # messages that mean this where the tensors at hand say so

    @property
    def shown(self) -> str:
        """The page for a reader: what PyTorch says, and no field that only programs read."""
        head, _, rest = self.text.partition("\n\n")
        said = "\n\n".join(f"> {message}" for message in self.messages)
        return f"{head}\n\n{said}\n\n{_FIELD.sub('', rest).lstrip()}"


@lru_cache(maxsize=1)
def all_pages() -> tuple[Page, ...]:
    """Every page, by name."""
    folder = resources.files(__package__).joinpath("pages")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".md")), key=lambda file: file.name)
    return tuple(_read(file.read_text(encoding="utf-8")) for file in files)


def _read(text: str) -> Page:
    fields = _FIELD.findall(text)
    blocks = dict(_BLOCK.findall(text))
    first = text.partition("\n## ")[0]
    return Page(
        name=text.partition("\n")[0].removeprefix("# "),
        messages=tuple(value for key, value in fields if key == "message"),
        law=next(value for key, value in fields if key == "law"),
        rules=tuple(value for key, value in fields if key == "rule"),
        why=_FIELD.sub("", first).partition("\n")[2].strip(),
        raises=blocks.get("Raises it", ""),
        right=blocks.get("Right", ""),
        text=text,
        about=next((value for key, value in fields if key == "about"), "tensor"),
        in_a_run=tuple(value for key, value in fields if key == "in a run"),
    )


@lru_cache(maxsize=256)
def _pattern(message: str) -> re.Pattern[str]:
    """A message as it may stand in a terminal: in any case, broken over lines anywhere a space stands."""
    parts = (_GAP.join(re.escape(word) for word in part.split()) for part in _plain(message).split(ANYTHING))
    return re.compile(r"\s*.{0,200}?\s*".join(parts), re.IGNORECASE)


def _plain(text: str) -> str:
    """A text without what terminals, notebooks and forums put into it: colours, tags, quotes of their own."""
    return _TAG.sub("", unescape(_COLOUR.sub("", text).replace("\\n", "\n"))).translate(_QUOTES)


def find(text: str) -> Page | None:
    """The page of the last message in a text: a pasted message, or a traceback, which ends with what was raised."""
    text = _plain(text)
    found = [(match.end(), -match.start(), page) for page in all_pages() for match in _matches(page.messages, text)]
    return max(found, key=lambda one: one[:2])[2] if found else None  # of two that end alike, the longer one


def find_in_a_run(text: str) -> Iterator[Page]:
    """The pages that a message may mean where the run is at hand: its tensors tell which of the vague ones it is."""
    found = find(text)
    vague = [page for page in all_pages() if _matches(page.in_a_run, text)]
    yield from [found] if found is not None and found not in vague else []
    yield from vague


def find_part(text: str) -> Page | None:
    """The page whose message a pasted piece is a part of."""
    piece = " ".join(_KIND.sub("", _plain(text).strip()).lower().split())
    if len(piece) < SHORTEST:
        return None
    return next((page for page in all_pages() for message in page.messages if piece in _plain(message).lower()), None)


def _matches(messages: tuple[str, ...], text: str) -> list[re.Match[str]]:
    return [match for message in messages for match in _pattern(message).finditer(text)]


def page_named(name: str) -> Page | None:
    return next((page for page in all_pages() if page.name == name.lower()), None)
