"""The calls in a statement that run a backward pass, and the loss that each of them uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from afterward.model.methods import BACKWARD
from afterward.repair.edits import Edit
from afterward.repair.source import Source, Statement, descendants


def own_nodes(statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of a statement, the body of a compound one left out."""
    if isinstance(statement, cst.BaseCompoundStatement):
        for field in ("test", "iter", "items", "subject"):
            part = getattr(statement, field, None)
            for each in part if isinstance(part, (list, tuple)) else [part]:
                if each is not None:
                    yield each
                    yield from descendants(each)
        return
    yield statement
    yield from descendants(statement)


def pass_calls(statement: cst.CSTNode) -> list[cst.Call]:
    """Calls of `.backward(...)`, `autograd.backward(...)` and `autograd.grad(...)`, outermost first."""
    return [node for node in own_nodes(statement) if isinstance(node, cst.Call) and _ends(node) is not None]


def _ends(call: cst.Call) -> str | None:
    function = call.func
    last = function.attr.value if isinstance(function, cst.Attribute) else getattr(function, "value", None)
    if last in BACKWARD:
        return "backward"
    return "grad" if last == "grad" and call.args else None


def loss_of(call: cst.Call) -> cst.BaseExpression | None:
    """The loss of a backward call: what it is called on, or, for a function, its first argument."""
    function = call.func
    given = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if isinstance(function, cst.Attribute) and function.attr.value == "backward" and not given:
        return function.value
    return given[0] if given else None


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def with_keyword(source: Source, call: cst.Call, name: str, value: str = "True") -> Edit | None:
    """Give a call this keyword argument; None where it has it already."""
    present = keyword(call, name)
    if present is not None:
        if source.code(present.value) == value:
            return None
        return source.replace(present.value, value)
    if call.args:
        last = call.args[-1]
        end = source.span(last.value)[1]
        if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:  # alone it needs no parentheses
            start = source.span(last.value)[0]
            return Edit(start, end, f"({source.code(last.value)}), {name}={value}")
        return Edit(end, end, f", {name}={value}")
    _, end = source.span(call)
    if call.lpar:
        end = source.text.rindex(")", 0, source.text.rindex(")", 0, end)) + 1
    return Edit(end - 1, end - 1, f"{name}={value}")


def without_keyword(source: Source, call: cst.Call, name: str) -> Edit | None:
    """Take a keyword argument away, with the comma that goes with it."""
    present = keyword(call, name)
    if present is None:
        return None
    place = list(call.args).index(present)
    start = source.offset(source.line(present), source.range(present).start.column)
    end = source.span(present.value)[1]
    if place > 0:
        start = source.span(call.args[place - 1].value)[1]
    elif len(call.args) > 1:
        following = source.range(call.args[1]).start
        end = source.offset(following.line, following.column)
    elif isinstance(present.comma, cst.Comma):
        end = source.text.index(",", end) + 1
    return Edit(start, end, "")


def method_of(node: cst.CSTNode | None) -> str:
    """The name of the method that a node calls: `step` of `opt.step()`."""
    called = node.func if isinstance(node, cst.Call) else None
    return called.attr.value if isinstance(called, cst.Attribute) else ""


def called_name(source: Source, call: cst.Call) -> str:
    """The last name of what is called: `train_step` of `self.train_step(x)`."""
    return source.code(call.func).rsplit(".", 1)[-1]


def receiver(statement: cst.CSTNode | None, method: str) -> cst.BaseExpression | None:
    """`opt` of a line that is `opt.method()`."""
    call = only_call(statement)
    return call.func.value if call is not None and method_of(call) == method else None  # type: ignore[attr-defined]


def only_call(statement: cst.CSTNode | None) -> cst.Call | None:
    """The call that a line consists of: nothing uses its result."""
    value = only_value(statement)
    return value if isinstance(value, cst.Call) else None


def only_value(statement: cst.CSTNode | None) -> cst.BaseExpression | None:
    """The expression that a line consists of."""
    single = isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1
    only = statement.body[0] if single else None  # type: ignore[union-attr]
    return only.value if isinstance(only, cst.Expr) else None


def trains(sources: Sequence[Source], node: cst.CSTNode) -> bool:
    """Does evaluating this call a function of the program's that calls `backward()` or steps an optimizer? To run it
    again would be another step of training."""
    return _calls_one(sources, node, lambda each: bool(pass_calls(each)) or is_step(each))


def runs_pass(sources: Sequence[Source], statement: Statement) -> bool:
    """Does a statement call `backward()`, itself or by functions of the program's?"""
    return bool(pass_calls(statement)) or _calls_one(sources, statement, lambda each: bool(pass_calls(each)))


def _calls_one(sources: Sequence[Source], node: cst.CSTNode, wanted: Callable[[Statement], bool]) -> bool:
    """Does evaluating this call a function of the program's that has such a statement?"""
    todo, seen = [node], set[str]()
    while todo:
        names = {each.func for each in own_nodes(todo.pop()) if isinstance(each, cst.Call)}
        called = {name.attr.value if isinstance(name, cst.Attribute) else getattr(name, "value", "") for name in names}
        for source in sources:
            for function in source.statements:
                if isinstance(function, cst.FunctionDef) and function.name.value in called - seen:
                    mine = source.within(function)
                    if any(map(wanted, mine)):
                        return True
                    todo.extend(mine)
        seen |= called
    return False


def is_step(statement: Statement) -> bool:
    """Is it `optimizer.step()` and nothing else?"""
    return receiver(statement, "step") is not None
