"""Source files as `fix` found them: read once, written atomically, and only if they are still the same."""

from __future__ import annotations

import io
import os
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from afterward.errors import AfterwardError, SourceUnreadable
from afterward.tasks.journal import change


class FileChanged(AfterwardError):
    """The file is not the one that was diagnosed any more."""


class FileNotWritten(AfterwardError):
    """A patch could not be written; every file is as it was."""


@dataclass(frozen=True)
class Original:
    """A file's bytes, and its text with its own line ends."""

    data: bytes
    text: str
    encoding: str

    def encoded(self, text: str) -> bytes:
        """The file's bytes with this text."""
        return text.encode(self.encoding)

    def program(self, text: str) -> bytes:
        """What Python is to compile for this text."""
        return self.encoded(text)


def read(path: str) -> Original:
    try:
        data = Path(path).read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return Original(data, data.decode(encoding), encoding)
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise SourceUnreadable(f"{path}: cannot be read: {error}") from None


def compiles(text: str, file: str) -> bool:
    """Is it a program still? What does not compile is never tried, and never written."""
    try:
        compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def write(originals: Mapping[str, Original], texts: Mapping[str, str]) -> None:
    """Put the new texts in place: all of them, or none."""
    changed: dict[str, tuple[bytes, bytes]] = {}
    try:
        for path, text in texts.items():
            if Path(path).read_bytes() != originals[path].data:
                raise FileChanged(f"{path} has changed since it was diagnosed; nothing was written")
            if not os.access(path, os.W_OK):
                raise PermissionError(13, "the file is read-only", path)
            changed[path] = (originals[path].data, originals[path].encoded(text))
        change(changed)
    except OSError as error:
        path = error.filename or next(iter(texts))
        raise FileNotWritten(f"cannot write {path}: {error.strerror}; nothing was written") from None
