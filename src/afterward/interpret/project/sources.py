"""Reads and parses the files of a program, each once."""

from __future__ import annotations

import ast
import os
import tokenize
from io import BytesIO
from pathlib import Path

from afterward.errors import SourceUnreadable
from afterward.interpret.search.shared import Shelf

LARGEST = 4_000_000  # bytes
# Libraries that are modelled, and a part by which a copy of one on disk is told from a module of the same name. A copy
# is not interpreted: its model knows better, and a checkout of the library holds thousands of files that use it.
_MODELLED = {
    "accelerate": "accelerator.py",
    "dgl": "heterograph.py",
    "lightning": "pytorch",
    "pytorch_lightning": "trainer",
    "torch_geometric": "data",
    "transformers": "modeling_utils.py",
}


def parse(data: bytes, file: str) -> ast.Module:
    """The syntax tree of a file's bytes, or one clear sentence why there is none."""
    if len(data) > LARGEST:
        raise SourceUnreadable(f"{file}: too large to check ({len(data):,} bytes)")
    if b"\0" in data:
        raise SourceUnreadable(f"{file}: not Python source: it has null bytes")
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, ValueError, LookupError) as error:  # an encoding may refuse with any UnicodeError
        raise SourceUnreadable(f"{file}: its encoding cannot be read: {error}") from None
    try:
        return ast.parse(text)
    except SyntaxError as error:
        reason = error.msg or "invalid syntax"
        raise SourceUnreadable(f"{file}:{error.lineno or 1}: not valid Python: {reason}") from None
    except (RecursionError, MemoryError):
        raise SourceUnreadable(f"{file}: nested too deeply to parse") from None
    except ValueError as error:
        raise SourceUnreadable(f"{file}: not valid Python: {error}") from None


class Sources:
    """Syntax trees by file, shared by all runs over a project."""

    def __init__(self) -> None:
        self.trees: dict[str, ast.Module | None] = {}
        self.texts: dict[str, bytes] = {}
        self.found: dict[tuple[str, str], str | None] = {}
        self.shelf = Shelf()

    def add(self, file: str, data: bytes, tree: ast.Module) -> None:
        self.trees[file] = tree
        self.texts[file] = data

    def forget(self, file: str) -> None:
        """A program was checked: its tree is not needed any more, unless others import it."""
        if file not in self.shelf.files:
            self.trees.pop(file, None)
            self.texts.pop(file, None)

    def tree(self, file: str) -> ast.Module | None:
        if file not in self.trees:
            try:
                data = Path(file).read_bytes()
                self.texts[file] = data
                self.trees[file] = parse(data, file)
            except (OSError, SourceUnreadable):
                self.trees[file] = None
        return self.trees[file]

    def find(self, folder: str, dotted: str) -> str | None:
        """The file of a module below a folder; None where there is none, or it is a library's."""
        key = (folder, dotted)
        if key not in self.found:
            top, *_ = parts = dotted.split(".")
            base = os.path.join(folder, *parts)
            if top in _MODELLED and os.path.exists(os.path.join(folder, top, _MODELLED[top])):
                self.found[key] = None
            elif os.path.isfile(base + ".py"):
                self.found[key] = base + ".py"
            elif os.path.isfile(os.path.join(base, "__init__.py")):
                self.found[key] = os.path.join(base, "__init__.py")
            elif os.path.isdir(base) and any(name.endswith(".py") for name in os.listdir(base)):
                self.found[key] = base + os.sep
            else:
                self.found[key] = None
        return self.found[key]
