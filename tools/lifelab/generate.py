"""Random programs.

Names are bound again on purpose (carried state), statements sit in loops and branches, parameters belong
to one or two optimizers, and passes start anywhere. A program need not be sensible: a statement that is
refused is passed over on both sides, and what it leaves behind is compared like anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from afterward.model.life import table
from lifelab.functions import FUNCTIONS
from lifelab.operations import SHAPES
from lifelab.programs import (
    Apply,
    Backward,
    Call,
    Checkpoint,
    Derive,
    For,
    Grad,
    If,
    Leaf,
    MakeOptimizer,
    Program,
    RequiresGrad,
    SetItem,
    Statement,
    Step,
    Under,
    ZeroGrad,
)


def words(text: str) -> list[str]:
    return text.split()


COMMON = words(
    """
    add mul sub mul exp tanh sigmoid relu mm linear linear softmax div sum mean add_scalar
    mul_scalar sum_dim select unbind view t split cat stack layer_norm cross_entropy mse_loss
    bce_with_logits dropout clone index where max_dim add_v mul_v exp_v tanh_v sum_v add_s mul_s
    exp_s lstm_cell gru_cell rnn_tanh_cell conv2d attention embedding narrow slice diagonal
    transpose
    """
)
WRITES = words(
    """
    add_ mul_ sub_ div_ add_scalar_ mul_scalar_ copy_ copy_v_ add_v_ mul_v_ zero_ zero_v_ exp_
    exp_v_ tanh_ sigmoid_ relu_ pow_ sqrt_ addcmul_ masked_fill_ index_add_ index_put_ clamp_
    relu_image_ fill_
    """
)
VIEWS = words(
    """
    select view t unbind split narrow slice diagonal transpose unsqueeze squeeze_row expand chunk
    reshape permute select_number unsqueeze_row view_line as_strided
    """
)
RECORDED = words(
    """
    add mul mul sub neg exp sin cos tanh sigmoid relu clone mul_scalar
    """
)
SUMS = {"M": "sum", "V": "sum_v", "B": "sum_b", "I": "sum_image", "L": "sum_line", "H": "sum_row",
        "A": "sum_attention", "O": "sum_volume"}  # fmt: skip


@lru_cache(maxsize=1)
def all_operations() -> list[str]:
    names = [name for name in table().raw if not table()[name].apart and not table()[name].in_place]
    return [name for name in names if name not in ("expand_matrix",)]


@lru_cache(maxsize=1)
def all_writes() -> list[str]:
    return [name for name in table().raw if table()[name].in_place]


class Writer:
    """Writes one program, keeping account of the names it has made and their shapes."""

    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below  # some number from 0 up to, and without, the given one
        self.names: dict[str, str] = {}  # name: shape
        self.parameters: list[str] = []
        self.optimizers: list[str] = []
        self.written_off: set[str] = set()  # gradients that may be one memory: nobody writes to them
        self.hot: set[str] = set()  # names that are likely to have a history
        self.count = 0
        self.in_inference = False
        self.is_recorded = self.chance(6)
        self.has_checkpoints = not self.is_recorded and self.chance(8)
        self.has_inference = not self.is_recorded and self.chance(10)

    def chance(self, n: int) -> bool:
        return n > 1 and self.below(n) == 1

    def pick(self, options: list[Any]) -> Any:
        return options[self.below(len(options))]

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def program(self) -> Program:
        body: list[Statement] = []
        for _ in range(1 + self.below(3)):
            self.parameter(body)
        if self.below(3):
            leaves = [p for p in self.parameters if self.below(4)]
            if leaves:
                self.optimizers.append("opt")
                body.append(MakeOptimizer("opt", self.pick(["SGD", "Adam"]), tuple(leaves)))
        self.block(body, 4 + self.below(11), 0)
        return tuple(body)

    def parameter(self, body: list[Statement]) -> None:
        shape = self.pick(["M", "M", "M", "V"]) if not self.is_recorded else "M"
        name = self.name("w")
        body.append(Leaf(name, shape, True))
        self.names[name] = shape
        self.parameters.append(name)
        self.hot.add(name)

    def block(self, body: list[Statement], size: int, depth: int) -> None:
        for _ in range(size):
            self.statement(body, depth)

    def statement(self, body: list[Statement], depth: int) -> None:
        kind = self.below(40)
        if kind < 13:
            self.operation(body)
        elif kind < 20:
            self.passing(body)
        elif kind < 24:
            self.writing(body)
        elif kind < 26:
            self.deriving(body)
        elif kind == 26 and not self.has_checkpoints:
            target = self.any_name(body)
            if target not in self.written_off:
                body.append(RequiresGrad(target, self.below(3) != 2))
                self.hot.add(target)
        elif kind == 27 and not self.is_recorded:
            self.custom(body)
        elif kind == 28 and not self.is_recorded:
            target, value = self.a("M", body), self.a("V", body)
            if target not in self.written_off and target not in self.parameters:
                body.append(SetItem(target, value))
                self.hot |= {target} if value in self.hot else set()
        elif kind <= 30 and self.has_checkpoints:
            self.checkpoint(body)
        elif kind <= 32:
            self.between(body)
        elif kind <= 35 and depth < 3:
            self.nested(body, depth)
        elif kind <= 37 and depth < 2:
            self.training(body, depth)
        else:
            self.operation(body)

    def training(self, body: list[Statement], depth: int) -> None:
        """The usual loop: some computation, a pass, perhaps a step; what it binds is there in the next iteration."""
        inner: list[Statement] = []
        for _ in range(1 + self.below(3)):
            self.operation(inner)
        if self.below(3) == 2:
            self.statement(inner, depth + 1)
        self.passing(inner)
        if self.below(2):
            self.between(inner)
        if self.below(3) == 2:
            self.passing(inner)
        body.append(For(2 + self.below(2), tuple(inner)))

    # Blocks

    def nested(self, body: list[Statement], depth: int) -> None:
        inner: list[Statement] = []
        kind = self.below(6)
        if kind < 3:
            self.block(inner, 1 + self.below(5), depth + 1)
            body.append(For(2 + self.below(2), tuple(inner)))
        elif kind == 3:
            self.block(inner, 1 + self.below(3), depth + 1)
            body.append(If(self.below(2), tuple(inner)))
        elif kind == 4:
            modes = ["no_grad", "no_grad", "enable_grad"]
            if self.has_inference:
                modes = ["inference_mode"]
            mode = self.pick(modes)
            if mode == "inference_mode":
                self.in_inference = True
                for _ in range(1 + self.below(3)):
                    self.operation(inner) if self.below(3) else self.writing(inner)
                self.in_inference = False
            else:
                self.block(inner, 1 + self.below(3), depth + 1)
            body.append(Under(mode, tuple(inner)))
        elif not self.is_recorded and not self.has_checkpoints:
            self.block(inner, 1 + self.below(3), depth + 1)
            body.append(Under(self.pick(["by_reference", "by_copy"]), tuple(inner)))

    # Names

    def a(self, shape: str, body: list[Statement]) -> str:
        """A name of that shape: mostly one there is, with a history if possible, the newest more often."""
        fitting = [name for name, s in self.names.items() if s == shape]
        hot = [name for name in fitting if name in self.hot]
        if hot and self.below(4) < 3:
            fitting = hot
        if fitting and self.below(10) < 9:
            if not self.below(2):
                return fitting[-1]
            return str(self.pick(fitting))
        name = self.name("x" if self.below(2) or self.in_inference else "w")
        if name[0] == "w":
            self.parameters.append(name)
            self.hot.add(name)
        body.append(Leaf(name, shape, name[0] == "w"))
        self.names[name] = shape
        return name

    def any_name(self, body: list[Statement]) -> str:
        names = [name for name in self.names if name in self.hot] if self.below(3) else []
        return str(self.pick(names or list(self.names))) if self.names else self.a("M", body)

    def out(self, shape: str, is_hot: bool = True) -> str:
        """A name to bind: new, or one that is bound already and carries its state on."""
        fitting = [n for n, s in self.names.items() if s == shape and n not in self.parameters]
        if fitting and self.below(3) == 2:
            name = str(self.pick(fitting))
            self.written_off.discard(name)
        else:
            name = self.name("y")
        if shape in SHAPES:
            self.names.pop(name, None)
            self.names[name] = shape
            (self.hot.add if is_hot else self.hot.discard)(name)
        return name

    # Statements

    def operation(self, body: list[Statement]) -> None:
        if self.is_recorded:
            choice = self.pick(RECORDED)
        else:
            kind = self.below(8)
            choice = self.pick(COMMON if kind < 4 else VIEWS if kind == 4 else all_operations())
        self.apply(body, choice)

    def apply(self, body: list[Statement], choice: str) -> str:
        entry = table()[choice]
        inputs = tuple(self.a(shape, body) for shape in entry.shapes)
        outs: list[str] = []
        is_hot = any(name in self.hot for name in inputs)
        for shape in entry.outs:
            name = self.out(shape, is_hot)
            outs.append(self.name("y") if name in outs else name)
            if shape in SHAPES:
                self.names[outs[-1]] = shape
        body.append(Apply(tuple(outs), choice, inputs))
        return outs[0]

    def writing(self, body: list[Statement]) -> None:
        if self.is_recorded:
            return self.operation(body)
        choice = self.pick(WRITES if self.below(3) else all_writes())
        inputs = tuple(self.a(shape, body) for shape in table()[choice].shapes)
        if inputs[0] in self.written_off or (self.has_checkpoints and inputs[0] in self.parameters):
            return None
        body.append(Apply((inputs[0],), choice, inputs))
        self.hot |= {inputs[0]} if any(name in self.hot for name in inputs) else set()
        return None

    def custom(self, body: list[Statement]) -> None:
        choice = self.pick(list(FUNCTIONS))
        shape = self.pick(["M", "V"])
        two = choice in ("Stops", "Both")
        inputs = tuple(self.a(shape, body) for _ in range(2 if two else 1))
        if choice == "Doubles":
            if inputs[0] not in self.written_off and inputs[0] not in self.parameters:
                body.append(Call((inputs[0],), choice, inputs))
            return
        outs = [self.out(shape)]
        if choice == "Both":
            outs.append(self.name("y"))
            self.names[outs[1]] = shape
        body.append(Call(tuple(outs), choice, inputs))

    def deriving(self, body: list[Statement]) -> None:
        source = self.any_name(body)
        how = self.pick(["detach", "detach", "data", "alias", "grad"])
        if how == "grad":
            source = self.pick(self.parameters)
        if self.is_recorded and how == "data":
            how = "detach"
        name = self.out(self.names[source], how == "alias")
        if name != source:
            body.append(Derive(name, how, source))
            self.written_off.add(name) if how == "grad" or source in self.written_off else None

    def checkpoint(self, body: list[Statement]) -> None:
        given = tuple(self.a(self.pick(["M", "M", "V"]), body) for _ in range(1 + self.below(2)))
        read = tuple(dict.fromkeys(p for p in self.parameters if p not in given and not self.below(2)))
        shapes = {f"p{k}": self.names[name] for k, name in enumerate(given)}
        shapes.update({name: self.names[name] for name in read})
        inner: list[Statement] = []
        last = "p0"
        for k in range(1 + self.below(4)):
            choice = self.pick([c for c in COMMON if len(table()[c].outs) == 1])
            entry = table()[choice]
            inputs = []
            for shape in entry.shapes:
                fitting = [name for name, s in shapes.items() if s == shape]
                if not fitting:
                    break
                inputs.append(fitting[-1] if self.below(2) else self.pick(fitting))
            if (
                len(inputs) == len(entry.shapes)
                and entry.outs[0] in SHAPES
                and not any(view is not None for view in entry.views)
            ):
                last = f"q{k}"
                inner.append(Apply((last,), choice, tuple(inputs)))
                shapes[last] = entry.outs[0]
        if last != "p0":
            body.append(Checkpoint(self.out(shapes[last]), given, read, tuple(inner), last))

    def between(self, body: list[Statement]) -> None:
        if not self.optimizers or (len(self.optimizers) < 3 and self.below(6) == 5):
            leaves = [p for p in self.parameters if self.below(3)] or self.parameters[:1]
            name = self.name("opt")
            self.optimizers.append(name)
            body.append(MakeOptimizer(name, self.pick(["SGD", "Adam"]), tuple(leaves)))
            return
        name = self.pick(self.optimizers)
        if self.below(2):
            body.append(Step(name))
        else:
            body.append(ZeroGrad(name, bool(self.below(3))))

    def root(self, body: list[Statement]) -> tuple[str, str | None]:
        """A name to start a pass from; a sum over it is made first, or a gradient given, as a rule."""
        shape = self.pick(["M", "M", "M", "V", "S", "any"]) if not self.is_recorded else "M"
        name = self.a(shape, body) if shape != "any" else self.any_name(body)
        shape = self.names[name]
        if name in self.parameters and self.below(8) < 7:
            name = self.apply(body, self.pick(RECORDED) if shape == "M" else "exp_v") if shape in "MV" else name
        if shape == "S":
            return name, None
        kind = self.below(12)
        if kind < 8 and shape in SUMS:
            return self.apply_to(body, SUMS[shape], name), None
        if kind == 11:
            return name, None
        gradient = self.name("x")
        body.append(Leaf(gradient, shape, False))
        return name, gradient

    def apply_to(self, body: list[Statement], choice: str, source: str) -> str:
        out = self.out(table()[choice].outs[0])
        body.append(Apply((out,), choice, (source,)))
        return out

    def gradient_as_value(self, body: list[Statement]) -> None:
        """A recorded gradient enters a loss, and another recorded pass adds to it before that loss is used."""
        leaf = self.pick(self.parameters)
        if self.names[leaf] != "M":
            return
        gradient = self.name("g")
        self.names[gradient] = "M"
        self.written_off.add(gradient)
        body.append(Derive(gradient, "grad", leaf))
        losses = [self.apply_to(body, "sum", self.apply_to(body, "sin", source)) for source in (gradient, leaf)]
        for loss in reversed(losses):
            body.append(Backward((loss,), (None,), bool(self.below(2)), True, None))

    def passing(self, body: list[Statement]) -> None:
        starts = [self.root(body) for _ in range(1 if self.below(4) else 2)]
        roots, gradients = tuple(s[0] for s in starts), tuple(s[1] for s in starts)
        retain = not self.below(3)
        create = self.is_recorded and bool(self.below(2))
        if self.below(3):
            inputs = None
            if not self.below(3):
                inputs = tuple(dict.fromkeys(self.pick(self.parameters) for _ in range(1 + self.below(2))))
            body.append(Backward(roots, gradients, retain, create, inputs))
            if create and not self.below(4):
                self.gradient_as_value(body)
            return
        inputs = tuple(dict.fromkeys(
            self.pick(self.parameters) if self.below(3) else self.any_name(body)
            for _ in range(1 + self.below(2))
        ))  # fmt: skip
        outs = []
        for source in inputs:
            out = self.name("g")
            self.names[out] = self.names[source]
            self.written_off.add(out)
            outs.append(out)
        body.append(Grad(tuple(outs), roots, gradients, inputs, retain, create, bool(self.below(4))))
