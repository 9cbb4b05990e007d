"""`recompute_forward`: run the stale forward statements again for each pass, with what they depend on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from afterward.model.site import Site
from afterward.repair import each_time, records
from afterward.repair.edits import Edit, Patch
from afterward.repair.names import assigned_names, assignment, forming, reads, root, targets
from afterward.repair.passes import only_call, pass_calls, trains
from afterward.repair.scopes import known_at
from afterward.repair.source import Source, Statement, children
from afterward.repair.workshop import Candidates, Job, Place

_CACHES = ("lru_cache", "cache", "cached_property")


def candidates(job: Job) -> Candidates:
    if job.remedy.statement:
        yield from _put_back(job)
        return
    yield from each_time.candidates(job, list(_makers(job)))
    yield from records.candidates(job, list(_makers(job)))
    yield from _into_the_loop(job)
    yield from _call_into_the_loop(job)
    yield from _for_the_late_loss_alone(job)
    yield from _before_the_late_statement(job)
    yield from _where_it_is_read(job)
    yield from _without_the_cache(job)
    yield from _without_the_guard(job)
    yield from each_time.not_stored(job)


def _put_back(job: Job) -> Candidates:
    """Start each step from the input as it was before the loop."""
    taking = job.loop()
    if taking is not None:
        source, _, body = taking
        yield job.patch(source, source.insert_before(body[0], job.remedy.statement))


# Statements of the same function: into the loop or closure that uses


def _makers(job: Job) -> Iterator[Place]:
    """The statements that may have made the value: where it got its name, and every caller on the way there."""
    ways = job.found.ways
    sites: list[Site | None] = [ways.assigned, job.found.built, *reversed(ways.built)]
    every = list(job.shop.sources())
    for source, statement in dict.fromkeys(job.places(sites, alone=True)):
        if not trains(every, statement):
            yield source, statement


def _into_the_loop(job: Job) -> Candidates:
    """Into the outermost loop or function that will do; then, as a closure is called more often, further."""
    ways = [_ways_in(job, source, maker) for source, maker in _makers(job)]
    for depth in range(max(map(len, ways), default=0)):
        for patches in ways:
            if depth < len(patches):
                yield patches[depth]


def _ways_in(job: Job, source: Source, maker: Statement) -> list[Patch]:
    block = source.block_of(maker)
    found: list[Patch] = []
    if block is None or not isinstance(maker, cst.SimpleStatementLine) or not assigned_names(source, maker):
        return found
    for inner in _backward_calls(job, source, maker):
        home = source.in_block(inner, block)
        body = source.body(inner)
        together = source.function_of(inner) is source.function_of(maker)
        if home is None and body and together and isinstance(inner, (cst.For, cst.While)):
            return [*found, job.patch(source, source.insert_before(body[0], *source.dedented(maker)))]
        if home is None or body is None or block.index(home) <= block.index(maker):
            continue
        between = block[block.index(maker) : block.index(home)]
        moving = _slice(source, between, maker, home)
        if not _makes_what_is_trained(source, moving):
            found.append(job.patch(source, *_moved(source, moving, inner, body)))
    return found


def _call_into_the_loop(job: Job) -> Candidates:
    """`self.update_prototypes()` in front of the loop that uses them moves into it."""
    taking = job.loop()
    if taking is None:
        return
    source, loop, body = taking
    for _, call in _makers(job):
        if call in source.before(loop) and only_call(call) is not None and not pass_calls(call):
            yield job.patch(source, source.delete(call), source.insert_before(body[0], *source.dedented(call)))


def _makes_what_is_trained(source: Source, moving: list[Statement]) -> bool:
    """Making the model or its optimizer again is no forward pass: it would forget what was learned."""
    made = {one.value for statement in moving for one in targets(statement) if isinstance(one, cst.Name)}
    return any(re.search(rf"\b{name}\.(parameters|zero_grad|step|train)\(", source.text) for name in made)


def _backward_calls(job: Job, source: Source, maker: Statement) -> Iterator[Statement]:
    """Loops and functions that hold the failing pass but not the maker, outermost first."""
    around = {id(each) for each in source.ancestors(maker)}
    for site in (job.found.ways.loop, *job.found.ways.reused, job.reading):
        place = job.at(site)
        if place is None or place[0] is not source:
            continue
        chain = [place[1], *source.ancestors(place[1])]
        holders = [
            each
            for each in chain
            if isinstance(each, (cst.For, cst.While, cst.FunctionDef)) and id(each) not in around and each is not maker
        ]
        yield from reversed(holders)


def _slice(source: Source, between: list[Statement], maker: Statement, home: Statement) -> list[Statement]:
    """The maker and the statements after it that carry its value to the loop."""
    wanted = assigned_names(source, maker)
    moving = [maker]
    for statement in between[1:]:
        made = assigned_names(source, statement)
        if made and reads(source, statement) & wanted and made & reads(source, home):
            moving.append(statement)
            wanted |= made
    return moving


def _moved(source: Source, moving: list[Statement], inner: Statement, body: list[Statement]) -> list[Edit]:
    lines = tuple(line for statement in moving for line in source.dedented(statement))
    made = set().union(*(assigned_names(source, s) for s in moving))
    gone = [] if _used_elsewhere(source, moving, inner, made) else moving
    return [source.insert_before(body[0], *lines), *(source.delete(statement) for statement in gone)]


def _used_elsewhere(source: Source, moving: list[Statement], inner: Statement, names: set[str]) -> bool:
    """Does anything but the loop use what the statements make? What comes after the loop finds its last value."""
    function = source.function_of(moving[0])
    body = function.body if isinstance(function, cst.Module) else getattr(function.body, "body", ())
    block = source.block_of(moving[0]) or []
    home = source.in_block(inner, block)
    if isinstance(inner, (cst.For, cst.While)) and home is not None:
        head = inner.iter if isinstance(inner, cst.For) else inner.test
        if reads(source, head) & names:
            return True
        body = block[block.index(moving[0]) : block.index(home) + 1]
    return _reads_outside(source, list(body), {id(s) for s in (*moving, inner)}, names)


def _reads_outside(source: Source, statements: list[cst.CSTNode], left_out: set[int], names: set[str]) -> bool:
    for statement in statements:
        if id(statement) in left_out:
            continue
        inner = getattr(statement, "body", None)
        if isinstance(inner, cst.IndentedBlock):
            heads = [c for c in children(statement) if c is not inner]
            if any(reads(source, head) & names for head in heads if not isinstance(head, cst.BaseSuite)):
                return True
            if _reads_outside(source, list(inner.body), left_out, names):
                return True
        elif reads(source, statement) & names:
            return True
    return False


# The same function, no loop: repeat the forward before the second use


def _before_the_late_statement(job: Job) -> Candidates:
    for early, late in zip(job.found.ways.freed, job.found.ways.reused, strict=False):
        one, other = job.at(early), job.at(late)
        if one is None or other is None:
            return
        if one[1] is other[1]:
            continue
        source, second = other
        for maker_source, maker in _makers(job):
            if maker_source is not source or not isinstance(maker, cst.SimpleStatementLine):
                continue
            if pass_calls(maker) and not assigned_names(source, maker):
                continue  # it uses what it makes: nothing of it would be there for the late one
            if source.function_of(maker) is source.function_of(second) and source.alone(second) and maker is not second:
                yield from _with_what_follows(job, source, maker, one[1], second)
                edit = source.insert_before(second, *source.dedented(maker))
                yield job.patch(source, edit)
        return


def _with_what_follows(job: Job, source: Source, maker: Statement, first: Statement, second: Statement) -> Candidates:
    """The late loss is formed from the value made again: that is made before it, or the loss behind the early pass."""
    after = source.after(maker)
    home = source.in_block(second, after)
    if home is None:
        return
    between = after[: after.index(home)]
    late = _formed_with(source, between, maker, second)
    early = source.in_block(first, source.block_of(maker) or [])
    if late and early is not None and late[0] in source.after(early):
        yield job.patch(source, source.insert_before(late[0], *source.dedented(maker)))
    elif late:
        yield _run_again(job, source, maker, late, second, [each for each in after if each is not home])


def _for_the_late_loss_alone(job: Job) -> Candidates:
    """Other losses of the iteration go on with the value as it was: it is made again for the one that fails."""
    place = job.at(job.found.ways.reused[-1] if job.found.ways.reused else None)
    if place is None:
        return
    source, second = place
    before = source.before(second)
    for maker_source, maker in _makers(job):
        here = maker_source is source and source.function_of(maker) is source.function_of(second)
        apart = maker not in (source.block_of(second) or ()) and isinstance(maker, cst.SimpleStatementLine)
        if here and apart and not pass_calls(maker):
            late = _formed_with(source, [each for each in before if not pass_calls(each)], maker, second)
            if late and not _makes_what_is_trained(source, [maker]):
                yield _run_again(job, source, maker, late, second, before)


def _formed_with(source: Source, between: list[Statement], maker: Statement, second: Statement) -> list[Statement]:
    """The lines between the two that form what the second reads, and compute with what the first one makes."""
    late = forming(source, between, reads(source, second), source.alone)
    return _that_hang_on(source, late, assigned_names(source, maker))


def _run_again(
    job: Job, source: Source, maker: Statement, late: list[Statement], second: Statement, others: list[Statement]
) -> Patch:
    """These lines once more, right before the late loss; what nothing else reads goes from where it was."""
    lines = tuple(line for statement in (maker, *late) for line in source.dedented(statement))
    read = set().union(*(reads(source, each) for each in others if each not in late))
    dead = [source.delete(each) for each in late if not assigned_names(source, each) & read]
    return job.patch(source, source.insert_before(second, *lines), *dead)


def _that_hang_on(source: Source, statements: list[Statement], names: set[str]) -> list[Statement]:
    """Those statements that compute with these names, directly or through one another."""
    names, found = set(names), []
    for statement in statements:
        if reads(source, statement) & names:
            found.append(statement)
            names |= assigned_names(source, statement)
    return found


# An attribute made elsewhere: make it where it is read


def _where_it_is_read(job: Job) -> Candidates:
    """Run the statement that made an attribute again, before the one that reads it, on the object it belongs to."""
    place = job.at(job.reading)
    if place is None:
        return
    source, reading = place
    known = known_at(source, reading)
    node = source.expression_at(job.reading)
    names = [job.name] if node is None else [source.code(node), job.name]
    for maker_source, maker in _makers(job):
        if not isinstance(assignment(maker), cst.Assign) or maker is reading:
            continue
        for target in targets(maker):
            text = maker_source.code(target)
            if not text.startswith("self.") or "[" in text:
                continue
            for owner in dict.fromkeys(owner for name in names if (owner := _owner(name, text)) is not None):
                lines = tuple(re.sub(r"\bself\b", owner, line) for line in maker_source.dedented(maker))
                needed = reads(maker_source, maker) - {"self"} | {root(owner)}
                if needed <= known:
                    edit = source.insert_before(reading, *lines)
                    yield job.patch(source, edit)


def _owner(name: str, made: str) -> str | None:
    """The object whose attribute `made` ("self.prior") is what `name` ("net.prior.scale") goes through."""
    attribute = made[4:]
    place = name.find(attribute)
    after = name[place + len(attribute) : place + len(attribute) + 1]
    return name[:place] if place > 0 and after in ("", ".", "[") else None


# A cache: have it compute each time


def _without_the_cache(job: Job) -> Candidates:
    for source, statement in job.places(reversed(job.found.ways.built)):
        function = source.function_of(statement)
        if not isinstance(function, cst.FunctionDef):
            continue
        for decorator in function.decorators:
            name = source.code(decorator.decorator).split("(")[0].rsplit(".", 1)[-1]
            if name not in _CACHES:
                continue
            line = source.line(decorator)
            start = source.offset(line, 0)
            if name == "cached_property":
                yield job.patch(
                    source,
                    source.replace(decorator.decorator, "property"),
                )
            else:
                end = source.offset(source.range(decorator).end.line + 1, 0)
                yield job.patch(source, Edit(start, end, ""))


def _memos(job: Job) -> list[Place]:
    """`self.x = ...` under a condition that speaks of `x`: what the message names first, then all others."""
    found = []
    for source in job.shop.sources():
        for statement in source.statements:
            holder = source.holder(statement)
            if not isinstance(holder, cst.If) or source.body(holder) != [statement]:
                continue
            names = [source.code(target).split(".")[-1].split("[")[0] for target in targets(statement)]
            if any(re.search(rf"\b{re.escape(name)}\b", source.code(holder.test)) for name in names):
                found.append((job.name.split(".")[-1].split("[")[0] not in names, source, statement))
    return [(source, statement) for _, source, statement in sorted(found, key=lambda each: each[0])]


def _without_the_guard(job: Job) -> Candidates:
    """`if self.cache is None: self.cache = ...` becomes `self.cache = ...`."""
    for source, maker in (*_makers(job), *_memos(job)):
        holder = source.holder(maker)
        if not isinstance(holder, cst.If) or holder.orelse is not None or not source.alone(holder):
            continue
        body = source.body(holder)
        if not body or isinstance(source.parent(holder), cst.If):
            continue
        start, _ = source.lines(holder)
        _, end = source.lines(body[-1])
        indent = source.indent(holder)
        lines = [line for statement in body for line in source.dedented(statement)]
        text = "".join(f"{indent}{line}{source.newline}" if line else source.newline for line in lines)
        yield job.patch(source, Edit(start, end, text))
