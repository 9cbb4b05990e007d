"""Programs on which the model once disagreed with PyTorch, shrunk, with what it had to learn."""

from __future__ import annotations

from lifelab.programs import (
    Apply,
    Backward,
    Call,
    Checkpoint,
    Derive,
    For,
    Grad,
    Leaf,
    MakeOptimizer,
    Program,
    RequiresGrad,
    SetItem,
    Step,
    Under,
)

W = Leaf("w", "M", True)
V = Leaf("v", "M", True)
X = Leaf("x", "M", False)
ROW = Leaf("row", "V", True)


def _op(out: str, operation: str, *inputs: str) -> Apply:
    return Apply(tuple(out.split()), operation, inputs)


def _back(*roots: str, retain: bool = False, create: bool = False) -> Backward:
    return Backward(roots, (None,) * len(roots), retain, create)


KEPT: dict[str, Program] = {
    "the backward of mul works out the second argument's gradient first": (
        W,
        _op("y", "add", "w", "w"),
        _op("z", "mul", "y", "y"),
        _op("a", "sum", "z"),
        _op("b", "sum", "z"),
        _back("a", "b", retain=True, create=True),
    ),
    "leaves that become ready together are served in that order": (
        W,
        V,
        _op("y", "mul", "w", "v"),
        _op("z", "add", "y", "y"),
        _op("loss", "sum", "z"),
        _back("loss", retain=True, create=True),
    ),
    "a saved view from unbind, written over, fails as a view and not as a saved value": (
        W,
        _op("y", "add", "w", "w"),
        _op("a b c", "unbind", "y"),
        Call(("d",), "Square", ("c",)),
        _op("y", "add_scalar_", "y"),
        _op("loss", "sum_v", "d"),
        _back("loss"),
    ),
    "a saved plain view, written over, gets a new node as the pass fails": (
        W,
        _op("y", "add", "w", "w"),
        _op("a", "select", "y"),
        _op("d", "exp_v", "a"),
        _op("e", "mul_v", "a", "d"),
        _op("y", "add_scalar_", "y"),
        _op("loss", "sum_v", "e"),
        _back("loss"),
        _op("again", "sum_v", "a"),
        _back("again"),
    ),
    "a custom function makes its node after its arguments' nodes, an operation before": (
        W,
        MakeOptimizer("opt", "SGD", ("w",)),
        _op("loss", "sum", "w"),
        _op("row", "select", "w"),
        _back("loss"),
        Step("opt"),
        Call(("a",), "Square", ("row",)),
        _op("row", "select", "w"),
        Step("opt"),
        _op("b", "exp_v", "row"),
    ),
    "a custom function under no_grad returns what it wrote to without the history": (
        W,
        _op("y", "add", "w", "w"),
        Under("no_grad", (Call(("y",), "Doubles", ("y",)),)),
        _op("z", "add", "y", "y"),
    ),
    "a custom function has written to the leaf by the time it is refused": (
        W,
        _op("y", "exp", "w"),
        _op("z", "mul", "w", "y"),
        Derive("alias", "alias", "w"),
        Call(("alias",), "Doubles", ("alias",)),
        _op("loss", "sum", "z"),
        _back("loss"),
    ),
    "a gradient that was handed back may be the very tensor that was given": (
        W,
        Leaf("g", "M", False),
        Grad(("h",), ("w",), ("g",), ("w",), True),
        V,
        _op("y", "sum", "v"),
    ),
    "an operation may return its argument": (W, _op("y", "positive", "w"), _op("z", "sum", "y"), _back("z")),
    "an inference tensor alone is not recorded, with another it cannot be saved": (
        W,
        X,
        Under("inference_mode", (_op("i", "add", "x", "x"),)),
        _op("a", "select", "i"),
        _op("b", "add", "w", "i"),
        _op("c", "mul", "w", "i"),
        _op("i", "add_scalar_", "i"),
    ),
    "requires_grad_(False) does not bring the history of a view up to date": (
        W,
        _op("y", "add", "w", "w"),
        _op("row", "select", "y"),
        _op("y", "add_scalar_", "y"),
        RequiresGrad("row", False),
        _op("z", "exp_v", "row"),
    ),
    "nor does it fail on a view from chunk whose base was stepped, as asking for its history would": (
        W,
        MakeOptimizer("opt", "SGD", ("w",)),
        _op("a b", "chunk", "w"),
        _op("loss", "sum", "w"),
        _back("loss"),
        Step("opt"),
        RequiresGrad("b", True),
        RequiresGrad("b", False),
    ),
    "a view of a view made under no_grad is refused in words of its own": (
        ROW,
        W,
        Under("no_grad", (_op("t", "transpose", "w"),)),
        SetItem("t", "row"),
    ),
    "a leaf that has become the result of a write takes no more gradients": (
        ROW,
        W,
        _op("loss", "sum", "w"),
        _back("loss"),
        RequiresGrad("w", False),
        SetItem("w", "row"),
        _back("loss"),
    ),
    "an optimizer refuses what is no leaf any more": (
        ROW,
        W,
        RequiresGrad("w", False),
        SetItem("w", "row"),
        MakeOptimizer("opt", "SGD", ("w",)),
        Step("opt"),
    ),
    "a plain number is in the node's own keeping, even where a checkpoint keeps the rest": (
        W,
        _op("y", "add", "w", "w"),
        Checkpoint("z", ("y",), (), (_op("q", "mul_scalar", "p0"),), "q"),
        _op("y", "add_scalar_", "y"),
        _op("loss", "sum", "z"),
        _back("loss"),
    ),
    "the data of an inference tensor is one too": (
        W,
        X,
        Under("inference_mode", (_op("i", "add", "x", "x"),)),
        Derive("d", "data", "i"),
        _op("y", "mul", "w", "d"),
    ),
    "a view made under no_grad leads nowhere, and nothing is saved for its sake": (
        W,
        X,
        _op("y", "exp", "w"),
        Under("no_grad", (_op("v", "t", "y"),)),
        _op("z", "mul", "v", "w"),
        _op("u", "mul", "w", "v"),
        _op("a", "sum", "z"),
        _op("b", "sum", "u"),
        _back("a"),
        _back("b"),
    ),
    "a checkpoint given a view that was out of date already fails when it is computed again": (
        W,
        V,
        MakeOptimizer("opt", "SGD", ("w",)),
        _op("a b c", "unbind", "w"),
        _op("loss", "sum", "w"),
        _back("loss"),
        Step("opt"),
        Checkpoint("z", ("a",), ("v",), (_op("q", "exp", "v"),), "q"),
    ),
    "linear builds other nodes for a vector that is not contiguous": (
        W,
        _op("d", "diagonal", "w"),
        _op("y", "linear_vector", "d", "w", "d"),
    ),
    "a node remade for a view is younger than the node that asked for it": (
        W,
        ROW,
        _op("y", "exp", "w"),
        _op("a", "select", "y"),
        Derive("behind", "detach", "y"),
        _op("behind", "add_scalar_", "behind"),
        _op("b", "mul_v", "a", "row"),
        _op("loss", "sum_v", "b"),
        _back("loss"),
    ),
}

# Not found by disagreeing, but what people run into: the model must get these right whatever is generated.
USUAL: dict[str, Program] = {
    "a state carried from step to step": (
        W,
        X,
        _op("h", "clone", "x"),
        For(3, (_op("p", "mm", "h", "w"), _op("h", "tanh", "p"), _op("loss", "sum", "h"), _back("loss"))),
    ),
    "retained, then stepped": (
        W,
        X,
        MakeOptimizer("opt", "SGD", ("w",)),
        _op("y", "mul", "w", "w"),
        _op("loss", "sum", "y"),
        For(2, (_back("loss", retain=True), Step("opt"))),
    ),
    "a cache written by slices": (
        ROW,
        Leaf("cache", "M", False),
        For(2, (_op("v", "exp_v", "row"), SetItem("cache", "v"), _op("loss", "sum", "cache"), _back("loss"))),
    ),
    "a checkpoint whose argument is written to": (
        W,
        _op("y", "exp", "w"),
        Checkpoint("z", ("y",), ("w",), (_op("q", "mul", "p0", "w"),), "q"),
        _op("y", "add_scalar_", "y"),
        _op("loss", "sum", "z"),
        _back("loss"),
    ),
    "a checkpoint swept twice": (
        W,
        Checkpoint("z", ("w",), (), (_op("q", "exp", "p0"),), "q"),
        _op("loss", "sum", "z"),
        _back("loss", retain=True),
        _back("loss"),
        _back("loss"),
    ),
    "a hook keeps the value, a write goes unnoticed": (
        W,
        _op("y", "exp", "w"),
        Under("by_reference", (_op("z", "mul", "y", "w"),)),
        Under("no_grad", (_op("y", "add_scalar_", "y"),)),
        _op("loss", "sum", "z"),
        _back("loss"),
        _back("loss"),
    ),
}
