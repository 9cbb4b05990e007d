"""Imports: modules of the same project are read from disk and interpreted, all others are libraries."""

from __future__ import annotations

import ast
import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from afterward.interpret.library.torch import objects
from afterward.interpret.machine.values import MISSING, Lib, Module, OutOfBudget, Raised, Value
from afterward.interpret.search.shared import Group, look

if TYPE_CHECKING:
    from afterward.interpret.machine.calls import Calls as _Base
    from afterward.interpret.project.sources import Sources
else:
    _Base = object

_DEEP = 100  # imports inside each other
_FOR_TYPES = "typing.TYPE_CHECKING"  # false in every program that runs
_LIBRARIES = frozenset({"torch", "numpy", *sys.stdlib_module_names})


class Imports(_Base):
    """The part of the machine that imports."""

    sources: Sources
    run_module: Any
    groups: list[Group]
    uses: list[dict[str, None]]  # of each module that is being imported, the files that it imports

    def do_import(self, statement: ast.Import) -> None:
        self.frame.data_effects += 1
        for alias in statement.names:
            found = self.import_module(alias.name, self.frame.file)
            if alias.asname:
                self.frame.scope.assign(alias.asname, found if found is not None else _lib(alias.name))
                continue
            top = alias.name.split(".")[0]
            whole = self.import_module(top, self.frame.file)
            self.frame.scope.assign(top, whole if whole is not None else _lib(top))

    def do_import_from(self, statement: ast.ImportFrom) -> None:
        self.frame.data_effects += 1
        here = self.frame.file
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
                    self.frame.scope.names.update(names)
                continue
            value: Value
            if source is None:
                value = self.unknown("import", name, alias.name) if statement.level else _lib(f"{name}.{alias.name}")
            else:
                value = self.lookup(source, alias.name)
                if value is MISSING:
                    value = self.unknown("import", source.file, alias.name)
            self.frame.scope.assign(alias.asname or alias.name, value)

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
        file = self.sources.find(folder, dotted)
        if file is None:
            return None
        return self._module(dotted, file)

    def _package(self, folder: str) -> Module:
        init = os.path.join(folder, "__init__.py")
        return self._module(os.path.basename(folder), init if os.path.isfile(init) else folder + os.sep)

    def _module(self, name: str, file: str) -> Module:
        if self.uses:
            self.uses[-1][file] = None
        known = self.modules.get(file)
        if known is not None:
            return known
        shared = self.sources.shelf.take(self, file)  # type: ignore[arg-type]
        if shared is not None:
            return shared
        if self.importing >= _DEEP or not self.budget.affords(1):
            return self._not_imported(name, file)
        trail, self.trail = self.trail, 0  # an import in a loop is done once: no iteration is another because of it
        try:
            return self._counted_import(name, file)
        finally:
            self.trail = trail

    def _counted_import(self, name: str, file: str) -> Module:
        outermost, depth = not self.uses, len(self.frames)
        before = look(self)  # type: ignore[arg-type]
        self.uses.append({})
        count = self.budget.begin_import()
        whole = False
        try:
            made = self._run_import(name, file)
            whole = True
        except OutOfBudget:
            if not outermost:
                raise
            del self.frames[depth:]
            self.gap(f"too much is imported: not all of {name} is known")
            made = self.modules[file]
        finally:
            own = self.budget.end_import(count)
            uses = self.uses.pop()
        if whole:
            self.sources.shelf.keep(self, before, file, own, uses)  # type: ignore[arg-type]
        return made

    def _not_imported(self, name: str, file: str) -> Module:
        self.gap(f"too much is imported: {name} is not known")
        made = self.modules[file] = Module(name, file, None)
        made.loading = False
        return made

    def _run_import(self, name: str, file: str) -> Module:
        tree = self.sources.tree(file) if not file.endswith(os.sep) else None
        made = self.modules[file] = Module(name, file, tree)
        made.scope.names["__name__"] = name
        if tree is not None:
            records, off = self.graph.records, self.graph.off
            self.importing += 1
            try:
                self.run_module(made)
            except Raised:
                self.gap(f"importing {name} would fail")
            finally:
                self.importing -= 1
            self.graph.records, self.graph.off = records, off
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
