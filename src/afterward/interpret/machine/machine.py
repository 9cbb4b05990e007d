"""The whole machine: statements, calls and expressions, with imports, decorators and context managers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from afterward.interpret.fragments.standins import Assumed
from afterward.interpret.library.torch import objects
from afterward.interpret.library.torch.passes import StepMade
from afterward.interpret.machine.assigning import Assigning
from afterward.interpret.machine.attributes import Attributes
from afterward.interpret.machine.branches import Branches
from afterward.interpret.machine.budget import Budget
from afterward.interpret.machine.calls import Calls
from afterward.interpret.machine.conditions import Conditions
from afterward.interpret.machine.core import Broken, Choices, Core, Frame
from afterward.interpret.machine.effects import Effects
from afterward.interpret.machine.expressions import Expressions
from afterward.interpret.machine.generators import Generators, Running
from afterward.interpret.machine.guards import Guards
from afterward.interpret.machine.matching import Matching
from afterward.interpret.machine.operators import Operators
from afterward.interpret.machine.statements import Statements
from afterward.interpret.machine.values import (
    Bound,
    Class,
    Function,
    Instance,
    Lib,
    Module,
    Native,
    OutOfBudget,
    Raised,
    Unknown,
    Unsupported,
    Value,
)
from afterward.interpret.project.imports import Imports
from afterward.interpret.project.sources import Sources
from afterward.interpret.search.shared import Group
from afterward.model.history import History


class Machine(Core):
    """Interprets one program once: its parts, and what each may ask of the others."""

    def __init__(self, sources: Sources, choices: Choices, budget: Budget, lenient: bool = False) -> None:
        super().__init__(choices, budget)
        self.sources = sources
        self.assumed = Assumed(lenient)
        self.groups: list[Group] = []
        self.uses: list[dict[str, None]] = []  # of each module that is being imported, the files that it imports
        self.used_by: dict[str, tuple[str, ...]] = {}  # of modules that could not be kept by themselves
        self.costs: dict[str, int] = {}
        self.steps: list[StepMade] = []
        self.stepped_at: dict[int, int] = {}  # when a step last changed a leaf, by its id
        self.reached_at: dict[int, int] = {}  # and when a pass last reached it
        self.in_custom: list[str] = []
        self.reducers: list[Instance] = []
        self.parametrize_cache: dict[int, Value] | None = None
        self.unknown_attributes: dict[tuple[int, str], Value] = {}
        self.class_names: list[str] = []
        self.running: list[Running] = []
        self.started: list[Running] = []
        self.handled: Value = None
        self.confirms = False  # an earlier run has shown what this one is to confirm
        self.judged = False  # and there is nothing to confirm: only whether a pass fails is still of interest
        self._put_together()

    def _put_together(self) -> None:
        self.operators, self.conditions = Operators(self), Conditions(self)
        self.binary, self.negation = self.operators.binary, self.operators.negation
        self.truth, self.is_true = self.operators.truth, self.operators.is_true
        self.expressions = Expressions(self)
        self.evaluate, self.take, self.item = self.expressions.evaluate, self.expressions.take, self.expressions.item
        self.generators = Generators(self)
        self.iterate, self.assume, self.suspend = (
            self.generators.iterate,
            self.generators.assume,
            self.generators.suspend,
        )
        self.start_generator = self.generators.start_generator
        self.store = Assigning(self).store
        changing = Effects(self)
        self.set_attribute, self.set_item, self.escape = changing.set_attribute, changing.set_item, changing.escape
        attributes = Attributes(self)
        self.attribute, self.lookup = attributes.attribute, attributes.lookup
        calling = Calls(self)
        self.call, self.call_function, self.instantiate = calling.call, calling.call_function, calling.instantiate
        self.make_function, self.declare_fields = calling.make_function, calling.declare_fields
        self.imports = Imports(self)
        self.import_module, self.submodule = self.imports.import_module, self.imports.submodule
        self.branches, self.matching, self.guards = Branches(self), Matching(self), Guards(self)
        self.run_block = Statements(self).run_block

    def run(self, module: Module) -> None:
        """Interpret a file as the program."""
        self._run_to_its_end(lambda: self.run_module(module))

    def enter(self, module: Module, run: Callable[[], None]) -> None:
        """Do something in a module that has been run, as a program that imports it would."""
        self.frames.append(Frame(0, "", module.file, module.scope))
        self._run_to_its_end(run)

    def _run_to_its_end(self, run: Callable[[], None]) -> None:
        try:
            run()
        except (Raised, Unsupported, OutOfBudget):
            pass
        finally:
            self.generators.close_all()
            self.frames.clear()

    def run_module(self, module: Module) -> None:
        self.calls += 1
        self.frames.append(Frame(self.calls, "", module.file, module.scope))
        names, self.class_names = self.class_names, []
        try:
            self.run_block(module.tree.body if module.tree is not None else [])
        finally:
            self.class_names = names
            if self.frames:
                self.frames.pop()

    def dismantle(self) -> None:
        """The run is over. Most of what it made refers to itself in a circle: cut here, it goes at once, where the
        garbage collector would have to look at all of it."""
        shared = {id(module) for group in self.groups for module in group.modules.values()}
        for module in self.modules.values():
            if id(module) not in shared:
                module.dismantle(self.sources.shelf.held)
        for leaf in self.graph.leaves:
            leaf.accumulator = leaf.version.leaf = None
            leaf.arrivals.clear()
        self.__dict__.clear()

    # Faults

    def breaks(self, history: History) -> int:
        """A pass would fail here."""
        self.broken.append(Broken(history, assumed=self.assumed.assumptions(self)))
        return len(self.broken) - 1

    def stop(self, why: str) -> None:
        """The program would end here with an error that is not ours to explain."""
        self.gap(why)
        raise Raised(Lib("builtins.RuntimeError"))

    def catches(self, kind: Value, value: Value) -> bool:
        """Does `except kind` catch this exception?"""
        if isinstance(kind, Unknown):
            return True
        name = kind.name if isinstance(kind, (Lib, Class)) else ""
        if name in ("Exception", "BaseException"):
            return not (isinstance(value, Lib) and value.name in ("SystemExit", "KeyboardInterrupt"))
        if isinstance(value, Lib):
            return name == value.name or (name == "LookupError" and value.name in ("KeyError", "IndexError"))
        if isinstance(value, Instance):
            return any(isinstance(base, (Lib, Class)) and base.name == name for base in value.order)
        return isinstance(value, Unknown)

    def named_pair(self, first: Value, second: Value, names: tuple[str, str] = ("values", "indices")) -> Value:
        """Two results with names, as `max(dim)` and others return them."""
        cls = Class("Pair", [Lib("collections.namedtuple")], None)
        cls.fields, cls.special = [(names[0], None), (names[1], None)], "namedtuple"
        made = Instance(cls)
        made.attributes = {names[0]: first, names[1]: second}
        return made

    # Decorators and contexts

    def decorate(self, decorator: Value, made: Value, node: ast.AST) -> Value:
        if isinstance(decorator, Lib):
            path = decorator.path
            if isinstance(made, Function):
                kind = _KINDS.get(path)
                if kind is not None:
                    made.kind = kind
                    return made
            if path in _APPLIED:
                return self.call(decorator, [made], {}, node)
            return made  # what a library's decorator adds does not touch the graph
        if isinstance(decorator, Instance) and "records" in decorator.inner:
            return objects.under(self, decorator, made)
        if isinstance(decorator, Unknown):
            return made
        result = self.call(decorator, [made], {}, node)
        if isinstance(result, Unknown):
            return made
        if isinstance(result, Function) and result is not made and result.cls is None:
            result.attributes.setdefault("__wrapped__", made)
        return result

    def enter_context(self, manager: Value, node: ast.AST) -> tuple[Value, Callable[[Raised | None], bool]]:
        """Enter a `with` block: its value, and what to do at the end (true: the exception is swallowed)."""
        if isinstance(manager, Instance):
            known = objects.enter(self, manager, node)
            if known is not None:
                return known
            generator = manager.inner.get("generator")
            if generator is not None:
                return self._enter_generator(generator)
            if "value" in manager.inner:
                return manager.inner["value"], lambda error: False
            enter, leave = self.lookup(manager, "__enter__"), self.lookup(manager, "__exit__")
            if isinstance(enter, Bound) and isinstance(leave, Bound):
                value = self.call(enter, [], {}, node)

                def out(error: Raised | None) -> bool:
                    given = [error.value, error.value, None] if error is not None else [None, None, None]
                    swallows = self.truth(self.call(leave, given, {}, node))
                    return error is not None and swallows is True

                return value, out
            return manager, lambda error: False
        return self.unknown(), lambda error: False

    def _enter_generator(self, generator: Any) -> tuple[Value, Callable[[Raised | None], bool]]:
        run = getattr(generator, "run", None)
        if run is None:
            return self.unknown(), lambda error: False
        try:
            value = run.resume(None)
        except StopIteration:
            return self.unknown(), lambda error: False

        def out(error: Raised | None) -> bool:
            try:
                run.resume(None, error)
            except StopIteration:
                return error is not None
            return False

        def leave(error: Raised | None) -> bool:
            if error is None:
                return out(None)
            try:
                return out(error)
            except Raised as again:
                if again is error:
                    return False
                raise

        return value, leave


_KINDS = {
    "builtins.staticmethod": "static", "builtins.classmethod": "class", "builtins.property": "property",
    "functools.cached_property": "cached", "abc.abstractproperty": "property", "torch.jit.unused": "",
}  # fmt: skip
_APPLIED = frozenset(
    {
        "functools.lru_cache", "functools.cache", "contextlib.contextmanager", "dataclasses.dataclass",
        "torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.autograd.no_grad",
        "torch.autograd.enable_grad", "torch.compile",
    }
)  # fmt: skip

__all__ = ["Machine", "Native"]
