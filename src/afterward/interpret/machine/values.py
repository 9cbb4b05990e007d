"""What a name can stand for while a program is interpreted.

Numbers, texts and the built-in containers stand for themselves: a list of the program is a list here, with
abstract values in it. Everything else is one of the classes below. `Unknown` is what the interpreter cannot
know; nothing that depends on one is ever reported.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from afterward.interpret.graph.graph import Cutting

Value = Any  # a constant, a container, or one of the classes below
Args = list[Value]  # of a call: those by place, and those by name
Kwargs = dict[str, Value]


class Unknown:
    """A value that cannot be known. Two of one key are the same value, so that a test on it is decided once."""

    __slots__ = ("cut", "key", "plain")

    def __init__(self, key: object = None, cut: Cutting | None = None, plain: bool = False) -> None:
        self.key = key
        self.plain = plain  # of a batch: whatever it is, it has no graph
        self.cut = cut  # a number that was read out of a tensor remembers how

    def __repr__(self) -> str:
        return f"<unknown {self.key if self.key is not None else ''}>"


class Numbers(Unknown):
    """An array of these whole numbers: known as far as a loop goes over it."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: range) -> None:
        super().__init__(("numbers", numbers.start, numbers.stop, numbers.step), plain=True)
        self.numbers = numbers


class Lib:
    """Something of a library, by its full dotted name: a module, class or function."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return self.path.rsplit(".", 1)[-1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lib) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"<{self.path}>"


class Scope:
    """The names of a module, function, class body or comprehension, inside the scope around it."""

    __slots__ = ("module", "names", "outer", "shared")

    def __init__(self, outer: Scope | None, module: Module | None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer
        self.module = module
        self.shared: dict[str, Scope] = {}  # declared global or nonlocal

    def find(self, name: str) -> Scope | None:
        scope: Scope | None = self.shared.get(name, self)
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.outer
        return None

    def assign(self, name: str, value: Value) -> None:
        self.shared.get(name, self).names[name] = value


class Module:
    """A file of the program."""

    __slots__ = ("file", "name", "scope", "tree")

    def __init__(self, name: str, file: str, tree: ast.Module | None) -> None:
        self.name = name
        self.file = file
        self.tree = tree
        self.scope = Scope(None, self)

    def dismantle(self, shared: Container[int] = ()) -> None:
        """Cut the circles from its names to functions and classes, and from these back to its names; but for classes
        that are shared, by their ids."""
        for value in self.scope.names.values():
            if isinstance(value, Class) and id(value) not in shared:
                value.order.clear()
                value.attributes.clear()
        self.scope.names.clear()

    def __repr__(self) -> str:
        return f"<module {self.name}>"


class Function:
    """A function or lambda of the program, with the scope it was made in."""

    __slots__ = (
        "attributes", "cls", "defaults", "kind", "kw_defaults", "name", "node", "qualname", "scope",
    )  # fmt: skip

    def __init__(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope, name: str, qualname: str
    ) -> None:
        self.node = node
        self.scope = scope
        self.name = name
        self.qualname = qualname
        self.defaults: list[Value] = []
        self.kw_defaults: dict[str, Value] = {}
        self.kind = ""  # "static", "class" or "property", by its decorator
        self.cls: Class | None = None  # for `super()`
        self.attributes: dict[str, Value] = {}

    def __repr__(self) -> str:
        return f"<function {self.qualname}>"


class Class:
    """A class of the program."""

    __slots__ = ("attributes", "bases", "fields", "module_like", "name", "node", "order", "special")

    def __init__(self, name: str, bases: list[Value], node: ast.ClassDef | None) -> None:
        self.name = name
        self.bases = bases
        self.node = node
        self.attributes: dict[str, Value] = {}
        self.fields: list[tuple[str, Value]] | None = None  # of a dataclass or named tuple
        self.special = ""  # "dataclass" or "namedtuple"
        self.module_like: bool | None = None  # is it a torch module? worked out once
        self.order: list[Value] = [self]  # the order in which attributes are looked for
        for base in bases:
            for one in base.order if isinstance(base, Class) else [base]:
                if one in self.order:
                    self.order.remove(one)
                self.order.append(one)

    def derives_from(self, *starts: str) -> bool:
        return any(isinstance(base, Lib) and base.path.startswith(starts) for base in self.order)

    def __repr__(self) -> str:
        return f"<class {self.name}>"


class Instance:
    """An object: of a class of the program, or of one of a library that is modelled (`cls` is then a Lib)."""

    __slots__ = ("attributes", "cls", "inner", "label", "opaque")

    def __init__(self, cls: Class | Lib) -> None:
        self.cls = cls
        self.attributes: dict[str, Value] = {}
        self.inner: dict[str, Any] = {}  # what the model of a library keeps about it
        self.label = ""  # the first name it was given
        self.opaque = False  # something unknown may have changed it

    @classmethod
    def of_library(cls, path: str, attributes: Mapping[str, Value] | None = None, **inner: Any) -> Instance:
        made = cls(Lib(path))
        made.attributes.update(attributes or {})
        made.inner.update(inner)
        return made

    @property
    def order(self) -> list[Value]:
        return self.cls.order if isinstance(self.cls, Class) else [self.cls]

    def is_a(self, *starts: str) -> bool:
        return any(isinstance(base, Lib) and base.path.startswith(starts) for base in self.order)

    @property
    def class_name(self) -> str:
        return self.cls.name

    def __repr__(self) -> str:
        return f"<{self.class_name} object>"


class Bound:
    """A method with the object it was taken from."""

    __slots__ = ("function", "owner")

    def __init__(self, function: Value, owner: Value) -> None:
        self.function = function
        self.owner = owner


class Method:
    """A method of a tensor, container, text or modelled object, by name: looked up when it is called."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Value, name: str) -> None:
        self.owner = owner
        self.name = name


OWNER = "the network that it is a part of"  # among the attributes of a layer of a stand-in network


class Native:
    """Something callable whose behaviour is written here, in Python: `call(machine, args, kwargs)`."""

    __slots__ = ("attributes", "call", "name")

    def __init__(self, call: Callable[..., Value], name: str = "") -> None:
        self.call = call
        self.name = name
        self.attributes: dict[str, Value] = {}


class Super:
    """`super()`: attributes are looked for behind `after` in the object's order."""

    __slots__ = ("after", "owner")

    def __init__(self, owner: Value, after: Class) -> None:
        self.owner = owner
        self.after = after


class Stream:
    """Something to iterate over whose length is not known: each iteration makes a new value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Value]) -> None:
        self.make = make


class Iter:
    """An iterator in use: `next` takes from it. `known`: it ends where it would in a run. `listed`: what it gives is
    in a container, so that each may mean something else; it is not made by code, one like the other."""

    __slots__ = ("known", "listed", "partial", "run", "send", "source")

    def __init__(
        self,
        source: Iterator[Value],
        known: bool = True,
        send: Callable[[Value], Value] | None = None,
        listed: bool = True,
    ):
        self.source = source
        self.known = known
        self.listed = listed
        self.send = send
        self.run: Any = None  # the running body of a generator
        self.partial = False


class Star:
    """`*value` in a call, where the elements are not known."""

    def __init__(self, value: Value) -> None:
        self.value = value


class SliceOf:
    """A slice some of whose bounds are not known."""

    def __init__(self, parts: list[Value]) -> None:
        self.parts = parts


class PartialDict(dict[Any, Any]):
    """A dict of the program. `partial`: it has entries that are not known; `maker`: of a defaultdict.

    What is put under a key that is not known stands under that unknown value itself, the newest last; `put` says in
    which iterations of which loops.
    """

    partial = False
    maker: Value = None
    put: dict[Unknown, dict[int, int]] | None = None

    @property
    def unsure(self) -> bool:
        """May a key be there that is not found?"""
        return self.partial or any(isinstance(key, Unknown) for key in self)

    def put_under_unknown(self, key: Unknown, value: Value, now: dict[int, int]) -> None:
        self.pop(key, None)
        self[key] = value
        self.put = {**(self.put or {}), key: now}

    def under_unknown(self, key: Unknown, now: dict[int, int]) -> Value:
        """What lies under a key that is not known: what was put under this very value; else what was put last, if that
        was in an earlier iteration of a loop that still runs: such a loop reads again what it has written. Where keys
        of one iteration may differ, nothing can be said."""
        if key in self:
            return self[key]
        newest = next((one for one in reversed(self) if isinstance(one, Unknown)), None)
        if newest is None or isinstance(self[newest], (Instance, Function, Class, Lib)):
            return MISSING
        then = (self.put or {}).get(newest, {})
        return self[newest] if any(then.get(loop, number) < number for loop, number in now.items()) else MISSING


class ModuleParts(PartialDict):
    """A module's `_modules` or `_parameters`: what is put into it becomes part of the module."""

    module: Value = None


MISSING = object()  # where a look-up found nothing


class Raised(Exception):
    """An exception of the program on its way through the interpreter."""

    def __init__(self, value: Value, fault: int | None = None) -> None:
        super().__init__()
        self.value = value
        self.fault = fault  # the number of the broken pass it reports


class OutOfBudget(Exception):
    """The interpretation of this program has taken long enough."""


class Unsupported(Exception):
    """Something that is not interpreted; the nearest statement around it gives up with a gap."""
