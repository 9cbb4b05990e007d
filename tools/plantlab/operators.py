"""The faults that are planted: each operator yields the program once for every place where it fits."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

from plantlab import reading
from plantlab.reading import called, calls, is_backward, is_call, is_step, receiver
from plantlab.source import Edit, Planted, Source

Operator = Callable[[Source], Iterator[Planted | None]]
OPERATORS: dict[str, Operator] = {}


def operator(function: Operator) -> Operator:
    OPERATORS[function.__name__.replace("_", "-")] = function
    return function


def plant(text: str) -> Iterator[tuple[str, Planted]]:
    """Every mutant of a program, with its operator's name; no text twice."""
    source = Source(text)
    seen = {text}
    for name, function in OPERATORS.items():
        for planted in function(source):
            if planted is not None and planted.text not in seen:
                seen.add(planted.text)
                yield name, planted


# What is dropped


def _unwrapped(source: Source, method: str) -> Iterator[Planted | None]:
    for call in calls(source, method):
        if not call.args and not call.keywords:
            assert isinstance(call.func, ast.Attribute)
            _, start = source.span(call.func.value)
            yield source.planted(Edit(start, source.span(call)[1], ""))


@operator
def drop_detach(source: Source) -> Iterator[Planted | None]:
    yield from _unwrapped(source, "detach")
    for node in source.walk():
        if isinstance(node, ast.stmt) and is_call(node, "detach_"):
            yield source.planted(source.without(node))


@operator
def drop_item(source: Source) -> Iterator[Planted | None]:
    yield from _unwrapped(source, "item")


@operator
def drop_no_grad(source: Source) -> Iterator[Planted | None]:
    names = ("no_grad", "inference_mode")
    for node in source.walk():
        if isinstance(node, ast.With) and len(node.items) == 1 and called(node.items[0].context_expr) in names:
            end = source.span(node.items[0].context_expr)[1]
            yield source.planted(Edit(source.span(node)[0], end, "if True"))
        elif isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if called(decorator) in names:
                    start = source.at(decorator.lineno, 0)
                    yield source.planted(Edit(start, source.at(decorator.lineno + 1, 0), ""))


@operator
def drop_zero_grad(source: Source) -> Iterator[Planted | None]:
    for node in source.walk():
        if isinstance(node, ast.stmt) and is_call(node, "zero_grad"):
            yield source.planted(source.without(node))


@operator
def drop_retain_graph(source: Source) -> Iterator[Planted | None]:
    yield from _without_flag(source, "retain_graph")


@operator
def drop_create_graph(source: Source) -> Iterator[Planted | None]:
    yield from _without_flag(source, "create_graph")


def _without_flag(source: Source, flag: str) -> Iterator[Planted | None]:
    for node in source.walk():
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            if keyword.arg == flag and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
                yield source.planted(Edit(*source.span(keyword.value), "False"))


@operator
def freeze_and_not_thaw(source: Source) -> Iterator[Planted | None]:
    for node in source.walk():
        thaws = isinstance(node, ast.Call) and called(node) == "requires_grad_" and _is_true(node.args)
        sets = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)
        sets = sets and node.targets[0].attr == "requires_grad" and _is_true([node.value])  # type: ignore[attr-defined]
        if thaws or sets:
            statement = next(n for n in (node, *source.above(node)) if isinstance(n, ast.stmt))
            holder = source.parents[statement]
            if isinstance(holder, ast.For) and holder.body == [statement]:
                statement = holder
            if isinstance(statement, (ast.Expr, ast.Assign, ast.For)):
                yield source.planted(source.without(statement))
    built = reading.optimizers(source)
    for _, block in source.blocks:
        for statement in block:
            if is_step(source, statement) and source.loops(statement) and receiver(source, statement) in built:
                model = reading.model_of(built[receiver(source, statement)])
                if model is not None:
                    line = f"{model}.requires_grad_(False)"
                    yield source.planted(source.after(statement, line))


def _is_true(values: list[ast.expr]) -> bool:
    return all(isinstance(v, ast.Constant) and v.value is True for v in values)


# What is added


@operator
def repeat_backward(source: Source) -> Iterator[Planted | None]:
    for node in source.walk():
        if isinstance(node, ast.Expr) and is_backward(node) and source.owns_its_lines(node):
            yield source.planted(source.after(node, source.code(node)))


@operator
def add_retain_graph(source: Source) -> Iterator[Planted | None]:
    yield from _with_flag(source, "retain_graph=True", ("backward",))


@operator
def add_create_graph(source: Source) -> Iterator[Planted | None]:
    yield from _with_flag(source, "create_graph=True", ("backward", "grad"))


def _with_flag(source: Source, flag: str, names: tuple[str, ...]) -> Iterator[Planted | None]:
    for name in names:
        for call in calls(source, name):
            if name == "grad" and not call.args:
                continue
            if {k.arg for k in call.keywords} & {"retain_graph", "create_graph"}:
                continue
            end = source.span(call)[1] - 1
            comma = ", " if call.args or call.keywords else ""
            yield source.planted(Edit(end, end, comma + flag))


@operator
def append_loss(source: Source) -> Iterator[Planted | None]:
    for node in source.walk():
        if isinstance(node, ast.Expr) and is_backward(node) and source.loops(node) and source.owns_its_lines(node):
            loss = receiver(source, node)
            if loss.isidentifier():
                loop = source.loops(node)[-1]
                yield source.planted(
                    source.before(loop, "past_losses = []"), source.after(node, f"past_losses.append({loss})")
                )


@operator
def wrap_in_data(source: Source) -> Iterator[Planted | None]:
    """A value on the way to a loss loses its graph."""
    for node in source.walk():
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        if not isinstance(node.value, (ast.Call, ast.BinOp)) or not _trains(source, node):
            continue
        if called(node.value) in ("item", "detach", "clone", *reading.OPTIMIZERS) or reading.is_fresh(node.value):
            continue
        start, end = source.span(node.value)
        code = source.text[start:end]
        yield source.planted(
            Edit(start, end, f"({code}).data" if isinstance(node.value, ast.BinOp) else f"{code}.data")
        )


def _trains(source: Source, node: ast.AST) -> bool:
    """Does it stand in a loop that calls backward, or in a `forward`?"""
    if any(reading.holds_backward(loop) for loop in source.loops(node)):
        return True
    return any(isinstance(n, ast.FunctionDef) and n.name == "forward" for n in source.above(node))


# What is moved


@operator
def step_before_backward(source: Source) -> Iterator[Planted | None]:
    for _, block in source.blocks:
        for first, second in reading.pairs(block):
            between = block[first + 1 : second]
            if is_backward(block[first]) and is_step(source, block[second]) and not any(map(is_backward, between)):
                moved = source.before(block[first], source.code(block[second]))
                yield source.planted(moved, source.without(block[second]))


@operator
def zero_between_backward_and_step(source: Source) -> Iterator[Planted | None]:
    for _, block in source.blocks:
        for first, second in reading.pairs(block):
            ends = is_call(block[first], "zero_grad") and is_step(source, block[second])
            if ends and any(map(is_backward, block[first:second])):
                moved = source.before(block[second], source.code(block[first]))
                yield source.planted(moved, source.without(block[first]))


@operator
def zero_within_accumulation(source: Source) -> Iterator[Planted | None]:
    """The gradient of the first micro-batch (or the first of two losses) is cleared before the second is added."""
    for _, block in source.blocks:
        backward = [n for n, statement in enumerate(block) if is_backward(statement)]
        for first, second in itertools.pairwise(backward):
            steps = [s for s in block[second:] if is_step(source, s)]
            between = block[first + 1 : second]
            if steps and not any(is_step(source, s) or is_call(s, "zero_grad") for s in between):
                yield source.planted(source.after(block[first], f"{receiver(source, steps[0])}.zero_grad()"))
        for statement in [block[n] for n in backward]:
            optimizer = _steps_outside(source, statement, block)
            if optimizer is not None and source.loops(statement):
                yield source.planted(source.before(statement, f"{optimizer}.zero_grad()"))


def _steps_outside(source: Source, backward: ast.stmt, block: list[ast.stmt]) -> str | None:
    """The optimizer that steps after several iterations of the loop around this backward."""
    if any(is_step(source, s) or is_call(s, "zero_grad") for s in block):
        return None
    for holder in source.above(backward):
        for statement in ast.walk(holder):
            if isinstance(statement, ast.Expr) and is_step(source, statement):
                return receiver(source, statement)
        if len(source.loops(backward)) < 2 and holder in source.loops(backward):
            return None
    return None


@operator
def forward_out_of_loop(source: Source) -> Iterator[Planted | None]:
    for node in source.walk():
        if (
            not isinstance(node, ast.Assign)
            or not source.loops(node)
            or not isinstance(node.value, (ast.Call, ast.BinOp))
        ):
            continue
        loop = source.loops(node)[0]
        if source.parents[node] is not loop or not reading.holds_backward(loop) or reading.is_fresh(node.value):
            continue
        others = set().union(*(reading.bound(s) for s in loop.body if s is not node))
        others |= reading.bound(loop.target) if isinstance(loop, ast.For) else set()
        if not reading.read(node.value) & (others | reading.bound(node)) and not reading.bound(node) & others:
            yield source.planted(source.before(loop, source.code(node)), source.without(node))


@operator
def swap_steps(source: Source) -> Iterator[Planted | None]:
    for _, block in source.blocks:
        steps = [s for s in block if is_step(source, s)]
        for first, second in itertools.pairwise(steps):
            if source.code(first) != source.code(second):
                swapped = (Edit(*source.span(a), source.code(b)) for a, b in ((first, second), (second, first)))
                yield source.planted(*swapped)


@operator
def step_the_wrong_optimizer(source: Source) -> Iterator[Planted | None]:
    built = list(reading.optimizers(source))
    for node in source.walk():
        if isinstance(node, ast.Expr) and is_step(source, node) and receiver(source, node) in built:
            for other in built:
                if other != receiver(source, node) and ("." in other) == ("." in receiver(source, node)):
                    yield source.planted(Edit(*source.span(node), f"{other}.step()"))


@operator
def carry_a_state(source: Source) -> Iterator[Planted | None]:
    """A state that is made new in each iteration is made once, before the loop."""
    for node in source.walk():
        if not isinstance(node, ast.Assign) or not reading.is_fresh(node.value):
            continue
        for loop in source.loops(node)[:1]:
            inner = set().union(*(reading.bound(s) for s in loop.body))
            inner |= reading.bound(loop.target) if isinstance(loop, ast.For) else set()
            if source.parents[node] is loop and not reading.read(node.value) & inner:
                yield source.planted(source.before(loop, source.code(node)), source.without(node))


@operator
def carry_a_state_by_attribute(source: Source) -> Iterator[Planted | None]:
    """A module keeps the last state of a call, and begins the next call with it."""
    for node in source.walk():
        if not isinstance(node, ast.FunctionDef) or not node.args.args or node.args.args[0].arg != "self":
            continue
        for n, first in enumerate(node.body):
            if not isinstance(first, ast.Assign) or not reading.is_fresh(first.value):
                continue
            names = reading.bound(first)
            if len(names) != 1 or node.name == "__init__" or not isinstance(first.targets[0], ast.Name):
                continue
            (name,) = names
            renewed = any(name in reading.bound(s) and name in reading.read(s) for s in node.body[n + 1 :])
            last = node.body[-1]
            if renewed and isinstance(last, ast.Return):
                kept = f"self.last_{name}"
                begin = source.after(first, f'if hasattr(self, "last_{name}"):', f"    {name} = {kept}")
                yield source.planted(begin, source.before(last, f"{kept} = {name}"))


@operator
def return_a_cached_value(source: Source) -> Iterator[Planted | None]:
    for node in source.walk():
        if not isinstance(node, ast.FunctionDef) or [a.arg for a in node.args.args] != ["self"]:
            continue
        last = node.body[-1]
        if (
            isinstance(last, ast.Return)
            and last.value is not None
            and not isinstance(last.value, (ast.Constant, ast.Name))
        ):
            kept = f"cached_{node.name}"
            lines = [f'if not hasattr(self, "{kept}"):', f"    self.{kept} = {source.code(last.value)}"]
            if "\n" not in lines[1]:
                yield source.planted(source.before(last, *lines), Edit(*source.span(last), f"return self.{kept}"))


@operator
def optimizer_before_a_change(source: Source) -> Iterator[Planted | None]:
    """The optimizer is built; then a layer of the model is replaced, or the whole model is, or it moves."""
    for statement in reading.optimizers(source).values():
        model = reading.model_of(statement)
        if model is None:
            continue
        new = f'{model} = __import__("copy").deepcopy({model})'
        yield source.planted(source.after(statement, new))
        child = f"layer, module = next(iter({model}.named_children()), (None, None))"
        put = f'setattr({model}, layer, __import__("copy").deepcopy(module)) if layer else None'
        yield source.planted(source.after(statement, child, put))
        holder = next(block for _, block in source.blocks if statement in block)
        for earlier in holder[: holder.index(statement)]:
            if _moves(source, earlier, model):
                yield source.planted(source.without(earlier), source.after(statement, source.code(earlier)))


def _moves(source: Source, statement: ast.stmt, model: str) -> bool:
    value = getattr(statement, "value", None)
    if called(value) not in ("to", "cuda", "double", "half", "float") or not isinstance(value.func, ast.Attribute):
        return False
    return source.code(value.func.value) == model
