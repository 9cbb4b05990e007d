"""Imports: modules of the same project are read from disk and interpreted, all others are libraries."""

from __future__ import annotations

import ast
import os
import sys
from functools import lru_cache

from afterward.interpret.library.torch import objects
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import MISSING, Lib, Module, OutOfBudget, Raised, Value
from afterward.interpret.search.shared import look

_DEEP = 100  # imports inside each other
_FOR_TYPES = "typing.TYPE_CHECKING"  # false in every program that runs
_LIBRARIES = frozenset({"torch", "numpy", *sys.stdlib_module_names})


class Imports(Part):
    """The part of the machine that imports."""

    def do_import(self, statement: ast.Import) -> None:
        self.machine.frame.data_effects += 1
        for alias in statement.names:
            found = self.import_module(alias.name, self.machine.frame.file)
            if alias.asname:
                self.machine.frame.scope.assign(alias.asname, found if found is not None else _lib(alias.name))
                continue
            top = alias.name.split(".")[0]
            whole = self.import_module(top, self.machine.frame.file)
            self.machine.frame.scope.assign(top, whole if whole is not None else _lib(top))

    def do_import_from(self, statement: ast.ImportFrom) -> None:
        self.machine.frame.data_effects += 1
        here = self.machine.frame.file
        if statement.level:
            folder = os.path.dirname(here)
            for _ in range(statement.level - 1):
                folder = os.path.dirname(folder)
            source = self._load(folder, statement.module) if statement.module else self._package(folder)
            name = statement.module or ""
        else:
            name = statement.module or ""
            source = self.import_module(name, here)
        for alias in statement.names:
            if alias.name == "*":
                if source is not None:
                    names = {k: v for k, v in source.scope.names.items() if not k.startswith("_")}
                    self.machine.frame.scope.names.update(names)
                continue
            value: Value
            if source is None:
                value = (
                    self.machine.unknown("import", name, alias.name)
                    if statement.level
                    else _lib(f"{name}.{alias.name}")
                )
            else:
                value = self.machine.lookup(source, alias.name)
                if value is MISSING:
                    value = self.machine.unknown("import", source.file, alias.name)
            self.machine.frame.scope.assign(alias.asname or alias.name, value)

    def import_module(self, dotted: str, importer: str) -> Module | None:
        """A module of the project, or None where it is a library's."""
        if dotted.split(".")[0] in _LIBRARIES:
            return None
        folder = os.path.dirname(importer)
        for _ in range(4):
            found = self._load(folder, dotted)
            if found is not None:
                return found
            above = os.path.dirname(folder)
            if above == folder or not _is_project(folder):
                break
            folder = above
        return None

    def _load(self, folder: str, dotted: str) -> Module | None:
        file = self.machine.sources.find(folder, dotted)
        if file is None:
            return None
        return self._module(dotted, file)

    def _package(self, folder: str) -> Module:
        init = os.path.join(folder, "__init__.py")
        return self._module(os.path.basename(folder), init if os.path.isfile(init) else folder + os.sep)

    def _module(self, name: str, file: str) -> Module:
        if self.machine.uses:
            self.machine.uses[-1][file] = None
        known = self.machine.modules.get(file)
        if known is not None:
            return known
        shared = self.machine.sources.shelf.take(self.machine, file)
        if shared is not None:
            return shared
        if self.machine.importing >= _DEEP or not self.machine.budget.affords(1):
            return self._not_imported(name, file)
        trail, self.machine.trail = (
            self.machine.trail,
            0,
        )  # an import in a loop is done once: no iteration is another because of it
        try:
            return self._counted_import(name, file)
        finally:
            self.machine.trail = trail

    def _counted_import(self, name: str, file: str) -> Module:
        outermost, depth = not self.machine.uses, len(self.machine.frames)
        before = look(self.machine)
        self.machine.uses.append({})
        count = self.machine.budget.begin_import()
        whole = False
        try:
            made = self._run_import(name, file)
            whole = True
        except OutOfBudget:
            if not outermost:
                raise
            del self.machine.frames[depth:]
            self.machine.gap(f"too much is imported: not all of {name} is known")
            made = self.machine.modules[file]
        finally:
            own = self.machine.budget.end_import(count)
            uses = self.machine.uses.pop()
        if whole:
            self.machine.sources.shelf.keep(self.machine, before, file, own, uses)
        return made

    def _not_imported(self, name: str, file: str) -> Module:
        self.machine.gap(f"too much is imported: {name} is not known")
        made = self.machine.modules[file] = Module(name, file, None)
        return made

    def _run_import(self, name: str, file: str) -> Module:
        tree = self.machine.sources.tree(file) if not file.endswith(os.sep) else None
        made = self.machine.modules[file] = Module(name, file, tree)
        made.scope.names["__name__"] = name
        if tree is not None:
            self.machine.importing += 1
            try:
                with self.machine.graph.own_mode():
                    self.machine.run_module(made)
            except Raised:
                self.machine.gap(f"importing {name} would fail")
            finally:
                self.machine.importing -= 1
        return made

    def submodule(self, owner: Module, name: str) -> Module | None:
        folder = os.path.dirname(owner.file)
        if owner.file.endswith((os.sep, "__init__.py")):
            return self._load(folder, name)
        return None


def _lib(name: str) -> Value:
    return Lib(objects.canonical(name)) if name != _FOR_TYPES else False


@lru_cache(maxsize=4096)
def _is_project(folder: str) -> bool:
    """Go on looking in the folder above, unless this one is where a project or the installed packages begin."""
    if os.path.basename(folder) in ("site-packages", "dist-packages"):
        return False
    return not any(os.path.exists(os.path.join(folder, name)) for name in (".git", "pyproject.toml", "setup.py"))
