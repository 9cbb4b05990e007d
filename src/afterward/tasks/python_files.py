"""The files of a check: Python and notebooks below the given paths, without what `.gitignore` names."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from afterward.tasks.regular_file import content_of

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# What lies in the folder of a program and is none of it.
NOT_OF_THE_PROGRAM = frozenset(
    {".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__", ".eggs",
     ".mypy_cache", ".ruff_cache", ".pytest_cache", ".afterward_cache", ".ipynb_checkpoints"}
)  # fmt: skip


def python_files(paths: list[str], exclude: list[str]) -> tuple[list[str], list[str]]:
    """The files that the given paths stand for, in order, and one line for each path that is not there."""
    found: dict[str, None] = {}
    wrong: list[str] = []
    for path in paths:
        matches = [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True))
        if not matches:
            wrong.append(f"{path}: no such file or folder")
        for match in matches:
            if os.path.isdir(match):
                found.update(dict.fromkeys(_below(os.path.abspath(match), exclude)))
            else:
                found[os.path.abspath(match)] = None
    return list(found), wrong


def _below(folder: str, exclude: list[str]) -> Iterator[str]:
    ignored = _Ignored(folder)
    for here, folders, names in os.walk(folder):
        ignored.enter(here)
        folders[:] = sorted(
            name
            for name in folders
            if name not in NOT_OF_THE_PROGRAM
            and not _excluded(os.path.join(here, name), name, exclude, folder)
            and not ignored.names(here, name, is_folder=True)
            and not os.path.exists(os.path.join(here, name, "pyvenv.cfg"))
        )
        for name in sorted(names):
            file = os.path.join(here, name)
            if not name.endswith((".py", ".ipynb")) or _excluded(file, name, exclude, folder):
                continue
            if not ignored.names(here, name):
                yield file


def _excluded(path: str, name: str, exclude: list[str], root: str) -> bool:
    if not exclude:
        return False
    inside = os.path.relpath(path, root)
    return any(fnmatch.fnmatch(name, one) or fnmatch.fnmatch(inside, one.rstrip("/")) for one in exclude)


class _Ignored:
    """What the `.gitignore` files say, from the repository's root down: the one nearest to a file goes first."""

    def __init__(self, folder: str) -> None:
        self.specs: dict[str, _Specs] = {}  # of each folder that was entered: its own, and those above it
        for one in reversed(_folders_above(folder)):
            self.enter(one)

    def enter(self, folder: str) -> None:
        above = self.specs.get(os.path.dirname(folder), ())
        own = _spec(content_of(os.path.join(folder, ".gitignore")).decode("utf-8", "replace").splitlines())
        self.specs[folder] = above if own is None else ((len(folder.rstrip(os.sep)) + 1, own), *above)

    def names(self, folder: str, name: str, is_folder: bool = False) -> bool:
        """Is something in a folder ignored? The folder itself is not, or it would not have been entered."""
        path = os.path.join(folder, name).replace(os.sep, "/") + ("/" if is_folder else "")
        for start, spec in self.specs[folder]:
            answer = spec.check_file(path[start:]).include
            if answer is not None:
                return answer
        return False


_Specs = tuple[tuple[int, "GitIgnoreSpec"], ...]  # where paths that a spec is about begin, and the spec


def _spec(lines: list[str]) -> GitIgnoreSpec | None:
    """The patterns in the lines of a file. A line that is none is passed over, as git does."""
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if not lines:
        return None
    from pathspec import GitIgnoreSpec

    def is_pattern(line: str) -> bool:
        try:
            return bool(GitIgnoreSpec.from_lines([line]).patterns)
        except (ValueError, re.error):
            return False

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        return GitIgnoreSpec.from_lines(filter(is_pattern, lines))


def _folders_above(folder: str) -> list[str]:
    """The folders above one, up to the root of its repository; none where it lies in no repository."""
    above: list[str] = []
    here = folder
    while not os.path.exists(os.path.join(here, ".git")):  # a file in a linked worktree and in a submodule
        parent = os.path.dirname(here)
        if parent == here:
            return []
        here = parent
        above.append(here)
    return above
