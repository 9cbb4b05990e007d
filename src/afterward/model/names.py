"""What the parts of a name tell that a program has for a value: `self.store["a"][3].loss`."""

from __future__ import annotations

import re

_INDEX = re.compile(r"\[[^\]]*\]")
_OWN_CONTAINER = re.compile(r"\._(?!_)\w+(?=\[)")
_LAST_INDICES = re.compile(r"(\[[^\]]*\])+$")


def stem(text: str) -> str:
    """`self.store[key]` is kept in `store`, and `batch[3].value` in `batch`."""
    return text.split("[")[0].split(".")[-1]


def container_of(name: str) -> str:
    """`log` of `log[3]["loss"]`."""
    return _LAST_INDICES.sub("", name)


def in_words_of(text: str, name: str) -> str:
    """A name in the words of a target that writes to it: inside a method `self.log`, outside `trainer.log`."""
    return text.split("[")[0] + name[len(name.split("[")[0]) :]


def is_in_row(name: str) -> bool:
    """Is it `log[3]["loss"]`, where the container's elements are dictionaries?"""
    return name.endswith('"]') and "][" in name


def as_given_out(name: str) -> str:
    """`data["a"]` for `data._items["a"]`: what an object gives out by key often lies in a dictionary of its own."""
    return _OWN_CONTAINER.sub("", name)


def form_of(name: str) -> str:
    """`memory[3].value` and `memory[7].value` are names of one form."""
    return _INDEX.sub("[]", name)


def keys_of(name: str) -> list[str]:
    """`loss` and `3` of `log['loss'][3]`."""
    return [key[1:-1].strip("'\"") for key in _INDEX.findall(name)]
