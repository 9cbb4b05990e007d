"""The one-way street: who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import afterward

ROOT = Path(afterward.__file__).parent

MAY_IMPORT = {  # package: (our packages, third-party libraries); all may use afterward.errors
    "model": ([], []),
    "messages": ([], []),  # the pages of PyTorch's own messages
    "rules": (["model"], []),
    "follow": (["model"], []),  # follows a value along a path, for both engines
    "interpret": (["model", "follow"], []),  # parses with the standard library's ast
    "observe": (["model", "messages", "follow"], ["torch"]),  # the one home of torch
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


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert len(_in_order(ROOT)) > 400


@pytest.mark.parametrize(
    "back",
    [
        "from afterward.b import b",
        "def f():\n    import afterward.b",
        'm = import_module("afterward.b")',
        'm = import_module(f"afterward.{name}")',
    ],
)
def test_a_cycle_is_found(tmp_path: Path, back: str) -> None:
    package = tmp_path / "afterward"
    package.mkdir()
    (package / "a.py").write_text(f"{back}\n", encoding="utf-8")
    (package / "b.py").write_text("from afterward import a\n", encoding="utf-8")
    with pytest.raises(CycleError):
        _in_order(package)
    (package / "b.py").write_text("if TYPE_CHECKING:\n    from afterward import a\n", encoding="utf-8")
    assert _in_order(package) == ["afterward.b", "afterward.a"]


def _in_order(root: Path) -> list[str]:
    """The modules of a package, each after those that it imports; a CycleError names the cycle."""
    modules = {_module_name(file, root): file for file in root.rglob("*.py")}
    imported = {name: _imported_at_run_time(name, file, set(modules)) - {name} for name, file in modules.items()}
    return list(TopologicalSorter(imported).static_order())


def _module_name(file: Path, root: Path) -> str:
    parts = file.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported_at_run_time(name: str, file: Path, modules: set[str]) -> set[str]:
    """What a module imports, at its top or inside of a function; not what it needs for its annotations alone."""
    found: set[str] = set()
    for node in _executed(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & modules
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                found |= {submodule if submodule in modules else node.module} & modules
        elif isinstance(node, ast.Constant) and node.value in modules and "." in str(node.value):  # for `import_module`
            found.add(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            # `import_module(f"{__name__}.{command}")` imports any of them.
            begin = _begins(node.args[0], name) if isinstance(node.args[0], ast.JoinedStr) else ""
            found |= {one for one in modules if one.rpartition(".")[0] + "." == begin}
    return found


def _begins(text: ast.JoinedStr, name: str) -> str:
    """What an f-string certainly begins with, in the module of this name."""
    known = ""
    for part in text.values:
        if isinstance(part, ast.Constant):
            known += str(part.value)
        elif isinstance(part, ast.FormattedValue) and getattr(part.value, "id", "") == "__name__":
            known += name
        else:
            break
    return known


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _executed(child)
