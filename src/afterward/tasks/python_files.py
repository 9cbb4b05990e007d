"""The files of a check: Python and notebooks below the given paths, without what `.gitignore` names."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator

_SKIPPED = frozenset(
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
    rules = _Ignored(folder)
    for here, folders, names in os.walk(folder):
        rules.read(here)
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED
            and not _excluded(os.path.join(here, name), name, exclude, folder)
            and not rules.ignores(os.path.join(here, name), True)
            and not os.path.exists(os.path.join(here, name, "pyvenv.cfg"))
        )
        for name in sorted(names):
            file = os.path.join(here, name)
            if not name.endswith((".py", ".ipynb")) or _excluded(file, name, exclude, folder):
                continue
            if not rules.ignores(file, False):
                yield file


def _excluded(path: str, name: str, exclude: list[str], root: str) -> bool:
    if not exclude:
        return False
    inside = os.path.relpath(path, root)
    return any(fnmatch.fnmatch(name, one) or fnmatch.fnmatch(inside, one.rstrip("/")) for one in exclude)


class _Ignored:
    """What `.gitignore` files say, from the repository's root down. Negations are heeded; the last rule wins."""

    def __init__(self, folder: str) -> None:
        self.files: list[tuple[str, re.Pattern[str], list[_Rule]]] = []  # its folder, all its rules at once, each
        above: list[str] = []
        here = folder
        while not os.path.isdir(os.path.join(here, ".git")):
            parent = os.path.dirname(here)
            if parent == here:
                above = []
                break
            here = parent
            above.append(here)
        for one in reversed(above):
            self.read(one)

    def read(self, folder: str) -> None:
        try:
            with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            return
        rules = [rule for rule in map(_rule, lines) if rule is not None]
        if rules:
            anything = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _, _ in rules))
            self.files.append((folder.rstrip(os.sep) + os.sep, anything, rules))

    def ignores(self, path: str, is_folder: bool) -> bool:
        answer = False
        for folder, anything, rules in self.files:
            if not path.startswith(folder):
                continue
            inside = path[len(folder) :].replace(os.sep, "/")
            if anything.fullmatch(inside) is None:
                continue
            for pattern, negated, only_folders in rules:
                if (is_folder or not only_folders) and pattern.fullmatch(inside):
                    answer = not negated
        return answer


_Rule = tuple[re.Pattern[str], bool, bool]  # what it matches, does it negate, is it for folders only


def _rule(line: str) -> _Rule | None:
    text = line.strip()
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    only_folders = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    text = text.lstrip("/")
    pattern = fnmatch.translate(text).replace("(?s:.*/", "(?s:(?:.*/)?", 1)
    prefix = "" if anchored else r"(?:.*/)?"
    try:
        return re.compile(prefix + pattern), negated, only_folders
    except re.error:
        return None
