"""How file names are shown: relative to where the reader is, and with nothing in them that a terminal would obey."""

from __future__ import annotations

import os
import re

# Control characters, half characters of bytes that are no text, and what reverses the direction of writing.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def relative(file: str) -> str:
    """Relative to the working directory where that is shorter than climbing out of it."""
    try:
        path = os.path.relpath(file)
    except (ValueError, OSError):  # another drive; the working directory is gone
        return file
    return file if path.startswith(os.pardir + os.sep + os.pardir) else path


def shown(file: str) -> str:
    """The same, for readers."""
    return printable(relative(file))


def printable(text: str) -> str:
    """One line of text as it can be printed anywhere: `\\x1b`, `\\n`, `\\u202e` are written out."""
    return _UNPRINTABLE.sub(lambda found: _escaped(found[0]), text)


def _escaped(character: str) -> str:
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a name that is not UTF-8
        return f"\\x{number - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def in_json(text: str) -> str:
    """JSON with what cannot be encoded, or would be obeyed, as escapes: the same value to whoever reads it."""
    return _UNPRINTABLE.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
