"""Signatures, annotations, type hints, generics, dataclass internals, enum, protocol, and their generated code's files."""
import dataclasses
import enum
import functools
import inspect
import typing


@dataclasses.dataclass(order=True, slots=True)
class D:
    """Doc of D."""

    a: int
    b: "list[str]" = dataclasses.field(default_factory=list)
    c: typing.ClassVar[int] = 3

    def __post_init__(self):
        self.a += 1


print(inspect.signature(D), typing.get_type_hints(D), dataclasses.asdict(D(1)), D.__init__.__code__.co_filename, D.__doc__)
print(D.__eq__.__qualname__, inspect.getsource(D)[:40], inspect.getmodule(D).__name__, D.__slots__, D.__match_args__)


class Color(enum.Flag):
    R = enum.auto()
    G = enum.auto()
    RG = R | G


print(list(Color), Color.RG, Color.__members__)


class P(typing.Protocol):
    def go(self, x: int) -> str: ...


@functools.singledispatch
def over(x: typing.Any, /, y: "int" = 1, *args: float, k, **kw) -> "None":
    "doc"


@over.register
def _(x: int):
    return "int"


@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@functools.wraps(fib.__wrapped__)
def wrapper(*a):
    return fib(*a)


print(inspect.signature(over), over.__annotations__, over(1), over.registry.keys(), fib(40), fib.cache_info(), inspect.signature(wrapper), inspect.unwrap(wrapper).__name__)
print(inspect.getdoc(over), inspect.getcomments(over), inspect.getmembers(D, inspect.isfunction)[0][0], [n for n, _ in inspect.getmembers(P)][:4])
print(__annotations__ if "__annotations__" in globals() else None)
x: int = 3
print(__annotations__, inspect.get_annotations(D.__post_init__), inspect.isgeneratorfunction(lambda: (yield)))
print(inspect.classify_class_attrs(D)[-1].name, inspect.getclasstree([D])[1], inspect.cleandoc(" a\n  b"))
