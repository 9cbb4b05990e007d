"""`recompute_forward`: run the stale forward statements again for each pass, with what they depend on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from afterward.model.site import Site
from afterward.repair import each_time, records
from afterward.repair.edits import Edit, Patch
from afterward.repair.names import assigned_names, assignment, reads, root, targets
from afterward.repair.passes import only_call, pass_calls, trains
from afterward.repair.scopes import known_at
from afterward.repair.source import Source, Statement, children
from afterward.repair.workshop import Candidates, Job

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
    source = job.shop.source(job.found.ways.loop)
    loop = source.loop_at(job.found.ways.loop) if source is not None else None
    body = source.body(loop) if source is not None and loop is not None else None
    if source is not None and body:
        edit = source.insert_before(body[0], job.remedy.statement)
        yield job.patch(f"put the input back before line {source.range(body[0]).start.line}", source, edit)


# Statements of the same function: into the loop or closure that uses


def _makers(job: Job) -> Iterator[tuple[Source, Statement]]:
    """The statements that may have made the value: where it got its name, and every caller on the way there."""
    ways = job.found.ways
    sites: list[Site | None] = [ways.assigned, job.found.built, *reversed(ways.built)]
    seen: set[int] = set()
    for site in sites:
        place = job.at(site)
        if place is not None and id(place[1]) not in seen and place[0].alone(place[1]):
            seen.add(id(place[1]))
            if not trains(list(job.shop.sources()), place[1]):
                yield place


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
            return [*found, _repeated(job, source, maker, inner, body)]
        if home is None or body is None or block.index(home) <= block.index(maker):
            continue
        between = block[block.index(maker) : block.index(home)]
        moving = _slice(source, between, maker, home)
        if not _makes_what_is_trained(source, moving):
            summary, edits = _moved(source, moving, inner, body)
            found.append(job.patch(summary, source, *edits))
    return found


def _call_into_the_loop(job: Job) -> Candidates:
    """`self.update_prototypes()` in front of the loop that uses them moves into it."""
    source = job.shop.source(job.found.ways.loop)
    loop = source.loop_at(job.found.ways.loop) if source is not None else None
    body = source.body(loop) if source is not None and loop is not None else None
    if source is None or loop is None or not body:
        return
    block = source.block_of(loop) or []
    for other, call in _makers(job):
        if other is not source or only_call(call) is None or pass_calls(call) or call not in block:
            continue
        if block.index(call) < block.index(loop):
            edits = (source.delete(call), source.insert_before(body[0], *source.dedented(call)))
            lines = source.range(call).start.line, source.range(loop).start.line
            yield job.patch(f"move line {lines[0]} in the loop of line {lines[1]}", source, *edits)


def _makes_what_is_trained(source: Source, moving: list[Statement]) -> bool:
    """Making the model or its optimizer again is no forward pass: it would forget what was learned."""
    made = {one.value for statement in moving for one in targets(statement) if isinstance(one, cst.Name)}
    return any(re.search(rf"\b{name}\.(parameters|zero_grad|step|train)\(", source.text) for name in made)


def _repeated(job: Job, source: Source, maker: Statement, inner: Statement, body: list[Statement]) -> Patch:
    """The value was made in another loop: make it again in this one."""
    first, loop = source.range(maker).start.line, source.range(inner).start.line
    edit = source.insert_before(body[0], *source.dedented(maker))
    return job.patch(f"repeat line {first} in the loop of line {loop}", source, edit)


def _backward_calls(job: Job, source: Source, maker: Statement) -> Iterator[Statement]:
    """Loops and functions that hold the failing pass but not the maker, outermost first."""
    around = {id(each) for each in source.ancestors(maker)}
    for site in (job.found.ways.loop, *job.found.ways.reused, job.found.bridge.site if job.found.bridge else None):
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


def _moved(source: Source, moving: list[Statement], inner: Statement, body: list[Statement]) -> tuple[str, list[Edit]]:
    lines = tuple(line for statement in moving for line in source.dedented(statement))
    edits = [source.insert_before(body[0], *lines)]
    made = set().union(*(assigned_names(source, s) for s in moving))
    what = "repeat"
    if not _used_elsewhere(source, moving, inner, made):
        edits += [source.delete(statement) for statement in moving]
        what = "move"
    first, last = source.range(moving[0]).start.line, source.range(moving[-1]).end.line
    span = f"line {first}" if first == last else f"lines {first} to {last}"
    where = "the loop" if isinstance(inner, (cst.For, cst.While)) else "the function"
    return f"{what} {span} in {where} of line {source.range(inner).start.line}", edits


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
                lines = source.range(maker).start.line, source.range(second).start.line
                yield job.patch(f"repeat line {lines[0]} before line {lines[1]}", source, edit)
        return


def _with_what_follows(job: Job, source: Source, maker: Statement, first: Statement, second: Statement) -> Candidates:
    """The late loss is formed from the value made again: that is made before it, or the loss behind the early pass."""
    block = source.block_of(maker) or []
    home = source.in_block(second, block) if maker in block else None
    if home is None or block.index(home) <= block.index(maker):
        return
    between = block[block.index(maker) + 1 : block.index(home)]
    wanted = reads(source, second)
    late: list[Statement] = []
    for statement in reversed(between):
        simple = isinstance(statement, cst.SimpleStatementLine) and source.alone(statement)
        if simple and assigned_names(source, statement) & wanted:
            late.insert(0, statement)
            wanted |= reads(source, statement)
    late = _that_hang_on(source, late, assigned_names(source, maker))
    if not late:
        return
    early = source.in_block(first, block)
    if early is not None and block.index(late[0]) > block.index(early):
        places = source.range(maker).start.line, source.range(late[0]).start.line
        edit = source.insert_before(late[0], *source.dedented(maker))
        yield job.patch(f"repeat line {places[0]} before line {places[1]}", source, edit)
        return
    lines = tuple(line for statement in (maker, *late) for line in source.dedented(statement))
    own = {id(statement) for statement in (*late, home)}
    others = set().union(*(reads(source, s) for s in block[block.index(maker) + 1 :] if id(s) not in own))
    dead = [s for s in late if not assigned_names(source, s) & others]
    edits = [source.insert_before(second, *lines), *(source.delete(statement) for statement in dead)]
    shown = ", ".join(str(source.range(statement).start.line) for statement in (maker, *late))
    yield job.patch(f"run lines {shown} before line {source.range(second).start.line}", source, *edits)


def _for_the_late_loss_alone(job: Job) -> Candidates:
    """Other losses of the iteration go on with the value as it was: it is made again for the one that fails."""
    place = job.at(job.found.ways.reused[-1] if job.found.ways.reused else None)
    if place is None:
        return
    source, second = place
    block = source.block_of(second) or []
    for maker_source, maker in _makers(job):
        if maker_source is not source or maker in block or not isinstance(maker, cst.SimpleStatementLine):
            continue
        if source.function_of(maker) is not source.function_of(second) or pass_calls(maker):
            continue
        before, wanted, late = block[: block.index(second)], reads(source, second), list[Statement]()
        for statement in reversed(before):
            simple = isinstance(statement, cst.SimpleStatementLine) and source.alone(statement)
            if simple and assigned_names(source, statement) & wanted and not pass_calls(statement):
                late.insert(0, statement)
                wanted |= reads(source, statement)
        late = _that_hang_on(source, late, assigned_names(source, maker))
        if not late or _makes_what_is_trained(source, [maker]):
            continue
        lines = tuple(line for statement in (maker, *late) for line in source.dedented(statement))
        others = set().union(*(reads(source, s) for s in before if s not in late))
        dead = [s for s in late if not assigned_names(source, s) & others]
        edits = [source.insert_before(second, *lines), *(source.delete(statement) for statement in dead)]
        shown = ", ".join(str(source.range(statement).start.line) for statement in (maker, *late))
        yield job.patch(f"run lines {shown} before line {source.range(second).start.line}", source, *edits)


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
    place = job.at(job.found.bridge.site if job.found.bridge is not None else None)
    if place is None:
        return
    source, reading = place
    known = known_at(source, reading)
    node = source.expression_at(job.found.bridge.site if job.found.bridge is not None else None)
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
                    line = source.range(reading).start.line
                    edit = source.insert_before(reading, *lines)
                    yield job.patch(f"compute `{owner}{text[4:]}` again before line {line}", source, edit)


def _owner(name: str, made: str) -> str | None:
    """The object whose attribute `made` ("self.prior") is what `name` ("net.prior.scale") goes through."""
    attribute = made[4:]
    place = name.find(attribute)
    after = name[place + len(attribute) : place + len(attribute) + 1]
    return name[:place] if place > 0 and after in ("", ".", "[") else None


# A cache: have it compute each time


def _without_the_cache(job: Job) -> Candidates:
    for site in reversed(job.found.ways.built):
        place = job.at(site)
        if place is None:
            continue
        source, statement = place
        function = source.function_of(statement)
        if not isinstance(function, cst.FunctionDef):
            continue
        for decorator in function.decorators:
            name = source.code(decorator.decorator).split("(")[0].rsplit(".", 1)[-1]
            if name not in _CACHES:
                continue
            line = source.range(decorator).start.line
            start = source.offset(line, 0)
            if name == "cached_property":
                yield job.patch(
                    f"compute it each time: `@property` on line {line}",
                    source,
                    source.replace(decorator.decorator, "property"),
                )
            else:
                end = source.offset(source.range(decorator).end.line + 1, 0)
                yield job.patch(f"compute it each time: no `@{name}` on line {line}", source, Edit(start, end, ""))


def _memos(job: Job) -> list[tuple[Source, Statement]]:
    """`self.x = ...` under a condition that speaks of `x`: what the message names first, then all others."""
    found = []
    for source in job.shop.sources():
        for statement in source.statements:
            holder = source.parent(source.parent(statement) or statement)
            if not isinstance(holder, cst.If) or source.body(holder) != [statement]:
                continue
            names = [source.code(target).split(".")[-1].split("[")[0] for target in targets(statement)]
            if any(re.search(rf"\b{re.escape(name)}\b", source.code(holder.test)) for name in names):
                found.append((job.name.split(".")[-1].split("[")[0] not in names, source, statement))
    return [(source, statement) for _, source, statement in sorted(found, key=lambda each: each[0])]


def _without_the_guard(job: Job) -> Candidates:
    """`if self.cache is None: self.cache = ...` becomes `self.cache = ...`."""
    for source, maker in (*_makers(job), *_memos(job)):
        holder = source.parent(source.parent(maker) or maker)
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
        line = source.range(holder).start.line
        yield job.patch(f"compute it each time: no condition on line {line}", source, Edit(start, end, text))
