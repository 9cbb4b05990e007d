"""Text as it is pasted becomes code, each line in its place."""

from __future__ import annotations

import pytest

from afterward.interpret.fragments.reading import read_fragment

LOOP = ["for x in xs:", "    y = f(x)"]


@pytest.mark.parametrize(
    "text",
    [
        "for x in xs:\n    y = f(x)",
        "        for x in xs:\n            y = f(x)",
        ">>> for x in xs:\n...     y = f(x)",
        "In [3]: for x in xs:\n   ...:     y = f(x)",
        "for x in xs:\r\n    y = f(x)",
        "12 for x in xs:\n13     y = f(x)\n14     pass",
        "for x in xs:\n\u00a0\u00a0\u00a0\u00a0y = f(x)",
    ],
)
def test_what_stands_around_code_is_left_out(text: str) -> None:
    read = read_fragment(text)
    assert read is not None
    assert read.text.split("\n")[:2] == LOOP


def test_only_what_is_fenced_is_read_and_lines_stay_in_their_place() -> None:
    read = read_fragment("It fails, why?\n```python\nfor x in xs:\n    y = f(x)\n```\nThanks!")
    assert read is not None
    assert read.text.split("\n") == ["", "", *LOOP, "", ""]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("elif mode == 'a':\n    f(x)", ["if mode == 'a':", "    f(x)"]),
        ("else:\n    f(x)", ["if True:", "    f(x)"]),
        ("f(x)\n    g(x)\n    for y in x:\n        h(y)", ["f(x)", "g(x)", "for y in x:", "    h(y)"]),
        ("f(x)\nif x:\n    print(", ["f(x)", "if x: pass", ""]),
        ("f(x)\nfor y in x:", ["f(x)", "for y in x: pass"]),
        ("My code is\nf(x)\ng(x)\nh(x)", ["pass", "f(x)", "g(x)", "h(x)"]),
    ],
)
def test_lines_that_do_not_parse_are_mended(text: str, kept: list[str]) -> None:
    read = read_fragment(text)
    assert read is not None
    assert read.text.split("\n") == kept


def test_what_is_no_code_is_not_read() -> None:
    assert read_fragment("This is a letter.\nIt has three lines of text.\nNone of them is code.") is None


def test_how_far_a_line_was_moved_is_kept() -> None:
    read = read_fragment(">>> f(x)\n>>> if x:\n...     g(x)")
    assert read is not None
    assert read.moved == (4, 4, 4)
