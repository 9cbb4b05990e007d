"""Follows a value by the program's own text: which name was assigned it, and which statement read it again."""

from __future__ import annotations

import ast
from dataclasses import replace

from afterward.follow.path import Place, Program
from afterward.follow.reading import is_target, last_name, parts_run, reads, spelled, targets
from afterward.model.history import Node, Pass, Value
from afterward.model.methods import PASSES
from afterward.model.names import stem
from afterward.model.site import Level, Where


def assigned_level(sources: Program, where: Where, names: set[str]) -> int | None:
    """The innermost level whose statement assigns one of these names."""
    for depth in range(len(where.levels) - 1, -1, -1):
        statement = _statement(sources, where.levels[depth])
        if statement is not None and any(_matches(target.text, names) for target in targets(statement)):
            return depth
    return None


def _matches(text: str, names: set[str]) -> bool:
    return text in names or stem(text) in names


def read_site(sources: Program, consumer: Where | None, held: str) -> Value | None:
    """Where the consumer's way reads a name, with its span."""
    if consumer is None:
        return None
    for level in reversed(consumer.levels):
        statement = _statement(sources, level)
        for name in reads(statement) if statement is not None else ():
            if name.text == held or same_place(name.text, held):
                site = sources.site_of(level.site.file, name.node)
                target = is_target(statement, name.node)
                return Value(name.text, name.kind, -1, site=site, read_at=level.moment, is_target=target)
    return None


def same_place(read: str, held: str) -> bool:
    """May what the program reads be what is held under a longer name, as `self.state` is `net.layers[1].state`?"""
    if "]." in held:  # the container's own name alone says nothing: it holds many things
        return last_name(read) == last_name(held) and not read.isidentifier()
    return stem(read) == stem(held)


def as_read(held: str, read: str) -> str:
    """The program's own words for an item of a list: `past[-1]` or `past[step]` for what lies at `past[3]` now."""
    owner, _, index = held.removesuffix("]").rpartition("[")
    own, _, wanted = read.removesuffix("]").rpartition("[")
    literal = wanted.isdigit() or wanted[:1] in ("'", '"')
    return read if index.isdigit() and owner and owner == own and wanted and not literal else held


def receiver(sources: Program, where: Where) -> str:
    """What a pass was called on, as the program writes it: `loss` in `loss.backward()`."""
    level = where.levels[-1]
    for call in parts_run(_statement(sources, level)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Attribute, ast.Name)):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        if name == "backward" and isinstance(call.func, ast.Attribute):
            inner = call.func.value
            if isinstance(inner, ast.Attribute) and inner.attr == "autograd" and call.args:
                return spelled(call.args[0])
            return spelled(inner)
        if name in PASSES and call.args:
            return spelled(call.args[0])
    return ""


def repeated(sources: Program, path: list[Place], early: Pass | None, late: Pass) -> frozenset[tuple[int, int]]:
    """The earlier pass and the later one, where that is called on the same expression, written out again."""
    if early is None or early.where is None or late.where is None or early.call != late.call:
        return frozenset()
    return frozenset({(early.id, late.id)}) if _written_again(sources, path, early.where, late.where) else frozenset()


def _written_again(sources: Program, path: list[Place], early: Where, late: Where) -> bool:
    """Does another statement of one call say the same, and was nothing that it reads assigned in between?"""
    if early.shared_call(late) < len(late.levels) or len(early.levels) != len(late.levels):
        return False
    first, second = early.levels[-1], late.levels[-1]
    statement = _statement(sources, second)
    if statement is None or first.site.same_lines(second.site) or receiver(sources, early) != receiver(sources, late):
        return False
    between = (p for p in path if p.call == second.call and first.moment < p.moment < second.moment)
    ran = [one for one in (sources.statement(place.number) for place in between) if one is not None]
    assigned = {target.text for one in ran for target in targets(one)}
    return bool(receiver(sources, late)) and not assigned & {name.text for name in reads(statement)}


def result_feeds(sources: Program, pass_where: Where, nodes: list[Node], trail: list[Place]) -> bool:
    """Is what a pass returned, or what was computed from it, read where one of these nodes was built?

    Without `create_graph` the way there builds no nodes (`penalty = slope.norm()`), so it is followed by name, and out
    of the function that returns it.
    """
    for level in reversed(pass_where.levels):
        statement = _statement(sources, level)
        if statement is None:
            return False
        built = {at.moment for node in nodes if node.where for at in node.where.levels if at.call == level.call}
        ran = sorted((p.moment, p.number) for p in trail if p.call == level.call and p.moment > level.moment)
        feeds, returned = _followed(statement, [(moment in built, sources.statement(n)) for moment, n in ran])
        if feeds or not returned:
            return feeds
    return False


# What is read by one of these is a number or data from then on.
_TAKES_A_NUMBER = {"item", "tolist", "detach", "float", "numpy"}


def _followed(statement: ast.stmt, ran: list[tuple[bool, ast.stmt | None]]) -> tuple[bool, bool]:
    """Does the result of `statement` come to one that builds a wanted node; is it returned?"""
    if isinstance(statement, ast.Return):
        return False, True
    results = {target.text for target in targets(statement) if target.is_plain}
    for builds, later in ran:
        if later is None or not results:
            continue
        read = {name.text for name in reads(later)}
        assigned = {target.text for target in targets(later) if target.is_plain}
        if not read & results:
            results -= assigned
        elif builds:
            return True, False
        elif not _TAKES_A_NUMBER & {text.rsplit(".", 1)[-1] for text in read}:
            if isinstance(later, ast.Return):
                return False, True
            results |= assigned
    return False, False


def restorable(sources: Program, value: Value, node: Node, consumer: Where | None, executed: dict[int, int]) -> Value:
    """Was the carried place first filled with something that is still at hand, and is it the step's only input?

    Then each step was meant to begin from that, and putting it back is the cure. `executed` gives the first
    moment of each statement that ran.
    """
    if consumer is None or node.where is None or value.kind not in ("item", "attribute"):
        return value
    iteration = next((t for t in consumer.iterations if node.where.iteration_of(t) is not None), None)
    if iteration is None:
        return value
    level = next(lv for lv in consumer.levels if iteration in lv.iterations)
    statement = _statement(sources, level)
    loop = sources.statement_at(iteration.loop.file, iteration.loop.line, iteration.loop.column)
    if statement is None or loop is None:
        return value
    made_in_loop = {target.text for inner in ast.walk(loop) if isinstance(inner, ast.stmt) for target in targets(inner)}
    if any(name.text in made_in_loop for name in reads(statement)):
        return value  # something new comes in with each step
    for number, moment in executed.items():
        if moment >= sources.entered_at(iteration):
            continue
        earlier = sources.statement(number)
        if not isinstance(earlier, ast.Assign) or not isinstance(earlier.value, (ast.Name, ast.Attribute)):
            continue
        if any(not t.is_plain and stem(t.text) == stem(value.name) for t in targets(earlier)):
            return replace(value, restorable=ast.unparse(earlier))
    return value


def _statement(sources: Program, level: Level) -> ast.stmt | None:
    return sources.statement_at(level.site.file, level.site.line, level.site.column)
