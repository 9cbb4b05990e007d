"""Whatever a user can meet speaks PyTorch's words: texts of the program, help, pages, docs, the page's script.

A sentence is any string of `src` that is no docstring, and any prose of the pages. Names of programs and pictures
(`state-behind-load-and-save`) are names, not sentences.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "afterward"

SAY = {  # the word that is not used: what to say instead
    r"sweeps?|sweeping|swept|unswept": "backward, `backward()` was called on",
    r"walk(s|ed|ing)?": "goes through, uses",
    r"anew": "again; recompute",
    r"can not": "cannot",
    r"behind": "after, before",
    r"h(ang|angs|ung|anging) on": "depends on",
    r"(lead|leads|led|leading) back": "is connected to",
    r"nobody|anybody": "nothing, never",
    r"told|tells?": "reported, says",
    r"turns?": "iteration, step",
    r"teach(es)? nothing": "has no effect on training",
    r"present parameters": "current parameters",
    r"dearer": "slower",
}
WORD = re.compile(r"(?<![\w/.-])(?:" + "|".join(SAY) + r")(?![\w/-])", re.IGNORECASE)

RIGHT = (  # where such a word is the plain one
    "turns a region into one node",  # `torch.compile` does: it makes one thing into another
    "would turn the leaf into",
    "Compiled autograd can not trace",  # torch's own message
    "never sweep, turn or anew",  # the page that forbids them
)


def _strings() -> Iterator[tuple[str, str]]:
    for file in SOURCE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        if SOURCE / "gallery" in file.parents:  # its docstrings are shown
            docs = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node.value


def _pages() -> Iterator[tuple[str, str]]:
    files = [*SOURCE.rglob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    files += [*(ROOT / "web" / "src").glob("*.js"), *(ROOT / "editors" / "vscode").glob("src/*.ts")]
    files += [ROOT / "Makefile", ROOT / "editors" / "vscode" / "README.md", *(ROOT / "docs" / "images").rglob("*.svg")]
    for file in files:
        if file.is_file():
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                yield f"{file.relative_to(ROOT)}:{number}", line


@pytest.mark.parametrize("texts", [_strings, _pages])
def test_the_words_are_those_of_pytorch(texts: object) -> None:
    assert callable(texts)
    found = [
        f"{place}: {match[0]!r} in {text.strip()[:120]!r}"
        for place, text in texts()
        for match in WORD.finditer(text)
        if not any(words in text for words in RIGHT)
    ]
    assert not found, "\n".join(["say it otherwise (see SAY):", *found])
