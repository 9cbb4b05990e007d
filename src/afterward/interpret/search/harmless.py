"""Calls that change nothing: a branch with only such calls in it need not be tried both ways."""

from __future__ import annotations

from functools import lru_cache

from afterward.interpret.library.python.builtins import HARMLESS
from afterward.interpret.library.python.words import words
from afterward.interpret.machine.values import Lib, Unknown, Value

# What changes nothing and keeps nothing, whatever it is given.
PURE = frozenset(
    f"builtins.{name}"
    for name in ("print", "len", "str", "int", "float", "bool", "repr", "round", "abs", "format", "isinstance", "type")
) | {"torch.save", "torch.is_tensor", "torch.device", "torch.cuda.is_available", "torch.cuda.synchronize"}
PURE_METHODS = frozenset(
    {"item", "tolist", "size", "dim", "numel", "to", "cpu", "cuda", "numpy", "get", "keys", "values"}
)


# Words in names of methods that write something down.
NOTES = words(
    "log logs scalar scalars report record write info debug print plot image images figure histogram summary postfix "
    "description metric metrics tqdm vis show draw curve xdata ydata"
)


@lru_cache(maxsize=4096)
def only_makes(path: str) -> bool:
    """Does a function of a library only make something new?"""
    top, _, rest = path.partition(".")
    if path in PURE:
        return True
    if top == "torch":
        return "." not in rest and not rest.endswith("_") and rest not in ("set_grad_enabled", "compile", "no_grad")
    return top in HARMLESS and top not in ("builtins", "collections", "itertools", "functools", "operator")


def all_plain(args: list[Value], kwargs: dict[str, Value]) -> bool:
    """Is there nothing among these that a call could change?"""
    return all(one is None or isinstance(one, (str, int, float, Unknown, Lib)) for one in (*args, *kwargs.values()))
