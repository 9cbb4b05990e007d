"""Which names, as a program writes them, are those of different places."""

from __future__ import annotations

import ast

import pytest

from afterward.follow.apart import apart
from afterward.follow.reading import Name


def _name(text: str) -> Name:
    return Name(text, ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ('g.ndata["m"]', 'g.ndata["h"]'),
        ('self.g.ndata["m"]', 'g.ndata["h"]'),
        ('g.nodes["item"].data["h"]', 'g.nodes["user"].data["h"]'),
        ('g.nodes["item"].data["h"]', 'g.nodes["user"].data'),
        ("self.layers[0].state", "net.layers[1].state"),
        ('cache["a"]["h"]', 'cache["b"]["h"]'),
    ],
)
def test_other_items_are_other_places(given: str, read: str) -> None:
    assert apart(_name(given), _name(read))
    assert apart(_name(read), _name(given))


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ('g.ndata["h"]', 'g.ndata["h"]'),
        ('self.g.ndata["h"]', 'g.ndata["h"]'),
        ('g.ndata["h"]', "g.ndata"),
        ("g.ndata[key]", 'g.ndata["h"]'),
        ("states[-1]", "states[2]"),
        ('a.x["m"].state', 'b.y["h"].state'),
        ("self.state", "state"),
    ],
)
def test_what_may_be_one_place(given: str, read: str) -> None:
    assert not apart(_name(given), _name(read))
    assert not apart(_name(read), _name(given))
