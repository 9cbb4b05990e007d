"""The files of a project: what they import, and which of them could have a pass in them."""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Iterator

from afterward.errors import SourceUnreadable
from afterward.interpret.project.sources import Sources

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^#\n]+)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_PASS = re.compile(rb"\bbackward\b|\bgrad\b|saved_tensors|LightningModule|\bcompute_loss\b|\btraining_step\b")
_PARTS = (b"grad", b"backward", b"saved_tensors", b"LightningModule", b"compute_loss", b"training_step")

LARGEST = 64_000_000  # bytes: a notebook holds pictures too
_NEAR, _FAR = 60, 120  # files that are looked at for a pass, and for what an answer depends on


def speaks_of(data: bytes) -> tuple[bool, bool]:
    """(of torch or a library on top of it, of gradients)."""
    return b"torch" in data or b"lightning" in data, calls_backward(data)


def calls_backward(data: bytes) -> bool:
    """Is there a word for a pass? To look for plain parts of words first is many times as fast."""
    return any(part in data for part in _PARTS) and _PASS.search(data) is not None


def read(file: str) -> bytes:
    """The content of a file, or one clear sentence why there is none."""
    try:
        status = os.stat(file)
        if stat.S_ISDIR(status.st_mode):
            raise SourceUnreadable(f"{file}: is a folder")
        if not stat.S_ISREG(status.st_mode):  # reading a pipe would wait for ever
            raise SourceUnreadable(f"{file}: is not a regular file")
        if status.st_size > LARGEST:
            raise SourceUnreadable(f"{file}: too large to check ({status.st_size:,} bytes)")
        with open(file, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise SourceUnreadable(f"{file}: {error.strerror or error}") from None


class Relevance:
    """Which files can have something to do with a backward pass: they name one, or import a file that does."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.known: dict[str, tuple[bool, bool]] = {}
        self.imports: dict[str, tuple[str, ...]] = {}

    def relevant(self, file: str, data: bytes) -> bool:
        """Is there talk of torch and of a pass, here or in what is imported? Looks no further than it must."""
        torch, calls_backward = speaks_of(data)
        for one in self._near(file, data, _NEAR):
            if torch and calls_backward:
                break
            known = self._speaks(one)
            torch, calls_backward = torch or known[0], calls_backward or known[1]
        return torch and calls_backward

    def of_project(self, file: str, module: str) -> bool:
        """Is a module that a file imports, by its full name, one of the project's?"""
        return self._resolve(os.path.dirname(file), module) is not None

    def near(self, file: str, data: bytes) -> list[str]:
        """The files that `relevant` has looked at."""
        return list(self._near(file, data, _NEAR))

    def reach(self, file: str, data: bytes | None = None) -> list[str]:
        """The project's files that a file imports, directly or not."""
        return list(self._near(file, data, _FAR))

    def _near(self, file: str, data: bytes | None, most: int) -> Iterator[str]:
        seen = {file}
        todo = deque(self._imported(file, data))
        while todo and len(seen) < most:
            one = todo.popleft()
            if one not in seen:
                seen.add(one)
                yield one
                todo.extend(self._imported(one, None))

    def _speaks(self, file: str) -> tuple[bool, bool]:
        if file not in self.known:
            try:
                self.known[file] = speaks_of(read(file))
            except SourceUnreadable:
                self.known[file] = (False, False)
        return self.known[file]

    def _imported(self, file: str, data: bytes | None) -> tuple[str, ...]:
        if file in self.imports:
            return self.imports[file]
        if data is None:
            try:
                data = read(file)
            except SourceUnreadable:
                data = b""
        self.known.setdefault(file, speaks_of(data))
        found: dict[str, None] = {}
        folder = os.path.dirname(file)
        for source, names, plain in _IMPORT.findall(data):
            for module in _modules(source, names, plain):
                target = self._resolve(folder, module)
                if target is not None and target.endswith(".py"):
                    found[target] = None
        self.imports[file] = tuple(found)
        return self.imports[file]

    def _resolve(self, folder: str, module: str) -> str | None:
        dots = len(module) - len(module.lstrip("."))
        name = module[dots:]
        for _ in range(max(dots - 1, 0)):
            folder = os.path.dirname(folder)
        for _ in range(1 if dots else 4):
            found = self.sources.find(folder, name) if name else None
            if found is not None:
                return found
            folder = os.path.dirname(folder)
        return None


def _modules(source: bytes, names: bytes, plain: bytes) -> Iterator[str]:
    if plain:
        for part in plain.decode("utf-8", "replace").split(","):
            yield part.split(" as ")[0].strip()
        return
    base = source.decode("utf-8", "replace")
    yield base
    for part in names.decode("utf-8", "replace").strip("() \t\r").split(","):
        name = part.split(" as ")[0].strip()
        if name.isidentifier():
            yield f"{base}{name}" if base.endswith(".") else f"{base}.{name}"
