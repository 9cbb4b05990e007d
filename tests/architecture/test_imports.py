"""The one-way street: who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import afterward

ROOT = Path(afterward.__file__).parent

MAY_IMPORT = {  # package: (our packages, third-party libraries); all may use afterward.errors
    "model": ([], []),
    "messages": ([], []),  # the pages of PyTorch's own messages
    "rules": (["model"], []),
    "interpret": (["model"], []),  # parses with the standard library's ast
    "observe": (["model", "messages"], ["torch"]),  # the one home of torch
    "repair": (["model"], ["libcst"]),  # the one home of libcst
    "render": (["model", "rules"], ["rich"]),
    "gallery": ([], ["torch", "dgl", "torch_geometric"]),  # the shipped examples, and the reader of their pages
    "tasks": (
        ["model", "messages", "rules", "interpret", "observe", "repair", "gallery"],
        ["pathspec", "platformdirs", "tomli"],  # for `check`: .gitignore, the cache's folder, settings on Python 3.10
    ),
    "integrations": (
        ["model", "tasks", "render"],
        ["pytest", "IPython", "lightning", "transformers", "pygls", "lsprotocol"],
    ),
    "cli": (["model", "tasks", "render"], []),
}


def _imports(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
            if node.module == "afterward":
                names |= {f"afterward.{alias.name}" for alias in node.names}
    return names


def _files() -> list[Path]:
    return [file for package in MAY_IMPORT for file in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("file", _files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_follow_the_map(file: Path) -> None:
    package = file.relative_to(ROOT).parts[0]
    ours, theirs = MAY_IMPORT[package]
    allowed = {"errors", "__version__", package, *ours}
    for name in _imports(file):
        top, *rest = name.split(".")
        if top == "afterward":
            assert not rest or rest[0] in allowed, f"{package} may not import {name}"
        else:
            assert top in sys.stdlib_module_names or top in theirs, f"{package} may not import {name}"


def test_every_package_is_on_the_map() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages <= set(MAY_IMPORT)


def test_importing_afterward_loads_neither_torch_nor_libcst() -> None:
    code = "import sys, afterward, afterward.cli; print([n for n in ('torch', 'libcst', 'rich') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
