"""A History holds facts: what one rule alone reads, to print it, is a verdict in the wrong room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from afterward.model.history import History

SOURCE = Path(__file__).parents[2] / "src" / "afterward"

# Facts for the page alone: what lines cost is no fault, and no rule speaks of it.
SHOWN = {"timings", "largest", "observed", "gaps"}


class Readers:
    """Which functions of a module read which attributes of anything called `history`, and which names they call."""

    def __init__(self, file: Path) -> None:
        self.module = file.stem
        self.functions: dict[str, set[str]] = {}  # name: attributes and names that it reads
        self.imported: dict[str, tuple[str, str]] = {}
        self.is_rule = False
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("afterward."):
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = ((node.module or "").rpartition(".")[2], alias.name)
        for node in tree.body:
            inner = node.body if isinstance(node, ast.ClassDef) else [node]
            for one in inner:
                read = _read(one, ("history", "self") if self.module == "history" else ("history",))
                self.functions.setdefault(getattr(one, "name", ""), set()).update(read)
            self.is_rule = self.is_rule or any(
                isinstance(one, ast.Call) and getattr(one.func, "id", "") == "rule"
                for one in getattr(node, "decorator_list", ())
            )


def _read(node: ast.AST, histories: tuple[str, ...]) -> Iterator[str]:
    """The attributes of a history, as `history.steps`, and all names that may be functions: `left_out`, `at.site`."""
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute):
            of_history = getattr(one.value, "id", getattr(one.value, "attr", "")) in histories
            yield f".{one.attr}" if of_history else one.attr
        elif isinstance(one, ast.Name):
            yield one.id


def _fields_read(start: Readers, modules: dict[str, Readers]) -> set[str]:
    """The fields of a History that the functions of a rule read, themselves or in what they call."""
    found: set[str] = set()
    todo = [(start, name) for name in start.functions]
    seen = set(todo)
    while todo:
        module, name = todo.pop()
        for word in module.functions.get(name, ()):
            plain = word.lstrip(".")
            if word.startswith("."):
                found.add(plain)
                nexts = [(modules["history"], plain)]
            else:
                near = [modules[each] for pair in module.imported.values() for each in pair if each in modules]
                nexts = [(one, plain) for one in (module, *near)]
            for one in nexts:
                if one[1] in one[0].functions and one not in seen:
                    seen.add(one)
                    todo.append(one)
    return found


def test_no_field_is_read_by_one_rule_alone_to_print_it() -> None:
    files = [*(SOURCE / "rules").glob("*.py"), *(SOURCE / "model").glob("*.py")]
    modules = {file.stem: Readers(file) for file in files if file.stem != "__init__"}
    readers: dict[str, set[str]] = {each.name: set() for each in fields(History)}
    for module in modules.values():
        for name in _fields_read(module, modules) if module.is_rule else ():
            if name in readers:
                readers[name].add(module.module)
    few = {name: rules for name, rules in readers.items() if len(rules) < 2 and name not in SHOWN}
    assert not few
