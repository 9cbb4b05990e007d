"""Questions about what statements built: which of it a pass used, and which was in vain."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from afterward.model.built import Execution, Statement
from afterward.model.history import History, Number, Pass
from afterward.model.site import Site
from afterward.rules._often import AGAIN, SEVERAL

LATER = 2  # passes, all looked at, that must have come after an execution before it counts as never used
OVERWRITTEN_ONCE = 5  # or so many values of it, where the whole program has but one pass


@dataclass(frozen=True, slots=True)
class Unused:
    """A statement that has built nodes, of which no pass that was looked at used one."""

    site: Site
    times: int  # that it ran
    nodes: int
    judged: int  # executions of which it is known: after the last pass, or between passes that were all looked at
    after_last: bool  # did some run after the last pass?
    name: str = ""  # that it gives its value
    unread: bool = False  # nothing reads that name
    evaluates: bool = False  # those ran in evaluation mode
    apart: bool = False  # and what the passes use did not


@dataclass(frozen=True, slots=True)
class Overwritten:
    """A statement that gave a name a new loss several times before a pass, which used only the last."""

    name: str
    times: int  # that it ran before one of them
    site: Site
    used: Site  # the pass that used the last one
    passes: int  # from that statement, before which it was so


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a loss with a graph of its own that no pass uses, though another part of it is used."""

    name: str
    used_part: str
    nodes: int
    bytes: int
    parameters: int
    site: Site  # where it was computed
    used: Site  # the pass that used the other part
    kept_by: Site | None = None  # the pass that kept a graph for it, where one did


def meets(used: list[int], first: int, end: int) -> bool:
    """Is any node of this interval among these, which are in order?"""
    place = bisect_left(used, first)
    return place < len(used) and used[place] < end


# Statements whose nodes no pass has used


def unused(history: History) -> list[Unused]:
    """Statements that build nodes each time they run, of which no pass has used any."""
    looked = [run for run in history.passes if run.used is not None]
    if not looked:
        return []
    used = sorted(frozenset().union(*(run.used or () for run in looked)))
    found = []
    evaluating = (each for one in history.built.statements for each in one.executions if each.evaluates)
    mixed = any(meets(used, each.first, each.end) for each in evaluating)
    for one in history.built.statements:
        # A statement whose value keeps its graph may be used in another phase of the program, between two looks.
        ends = one.unread or one.cut_off
        judged = [each for each in one.executions if _is_in_vain(history, each, ends)]
        if judged and not any(meets(used, each.first, each.end) for each in one.executions):
            nodes = sum(each.end - each.first for each in one.executions)
            last = any(_is_last(history, each) for each in judged)
            name = one.gives[0] if one.gives else ""
            evaluates = all(each.evaluates for each in judged)
            times, apart = (len(one.executions), len(judged)), evaluates and not mixed
            found.append(Unused(one.site, times[0], nodes, times[1], last, name, one.unread, evaluates, apart))
    return found


def _is_in_vain(history: History, one: Execution, ends: bool) -> bool:
    """Is it known that no pass can use it? In evaluation mode there is no other phase that it may be for."""
    if one.evaluates or not history.observed:
        return is_judged(history, one)
    return _is_last(history, one) or (ends and is_judged(history, one))


def _is_last(history: History, one: Execution) -> bool:
    """Did no pass come after it, and can none come any more?"""
    return history.built.over and bool(history.passes) and one.moment >= history.passes[-1].moment


def is_judged(history: History, one: Execution) -> bool:
    """Would a pass that uses it have been seen? Were all passes looked at that came next, or did none come any more?"""
    if one.lost:
        return False
    begin = bisect_left(history.passes, one.until, key=lambda run: run.moment)
    if history.built.over and begin >= history.complete_from:
        return True
    following = history.passes[begin : begin + LATER]
    windows = {run.window for run in following}
    return len(following) == LATER and len(windows) == 1 and all(run.used is not None for run in following)


def _none_missing(runs: Sequence[Pass]) -> bool:
    """Were all of these passes looked at, and is none between them forgotten?"""
    for call in ("backward", "grad"):
        counts = [run.count for run in runs if run.call == call]
        if counts and counts[-1] and counts[-1] - counts[0] != len(counts) - 1:
            return False
    return all(run.used is not None for run in runs)


def never_read(history: History) -> list[Unused]:
    """What is computed with a graph step after step, under a name that nothing reads. What also runs after the last
    pass is an evaluation. From source it is not known what else may read it."""
    return (
        []
        if not history.observed
        else [one for one in unused(history) if one.unread and one.judged >= SEVERAL and not one.after_last]
    )


# Losses that are overwritten


def overwritten(history: History) -> list[Overwritten]:
    """Losses of which only the last of several values is used, again and again; or in the one pass of a whole run."""
    alone = history.observed and sum(run.call == "backward" for run in history.passes) == 1
    return [one for one in _overwritten(history) if one.passes >= AGAIN or (alone and one.times >= OVERWRITTEN_ONCE)]


def _overwritten(history: History) -> Iterator[Overwritten]:
    training = [run for run in history.passes if _trains(history, run)]
    used = sorted({node for run in training for node in run.used or ()})
    starts = {root.node for run in history.passes for root in run.roots}
    began = _first_nodes(history)
    given = [one for one in history.built.statements if one.gives and not one.chosen]
    found: dict[tuple[Site, Site], list[Overwritten]] = {}
    otherwise: set[tuple[Site, Site]] = set()  # where another one than the last was used as well
    for run in training:
        if not run.used or run.where is None:
            continue
        for one in given:
            several = _before(run, one)
            name = _name(run, one, several) if len(several) > 1 else ""
            if not name or not _all_looked_at(history, several[0], run):
                continue
            *dropped, last = several
            mine = sorted(run.used)
            vain = meets(mine, last.first, last.end) and not any(
                # What another iteration handed on to the last one is used: a state, whose last output counts.
                each.lost
                or each.end - 1 in starts
                or meets(used, each.first, each.end)
                or meets(mine, _began(each, last, began), each.end)
                for each in dropped
            )
            loss = Overwritten(name, len(several), one.site, run.where.dated_site, 1)
            found.setdefault((one.site, run.where.site), []).append(loss)
            if not vain:
                otherwise.add((one.site, run.where.site))
    for key, losses in found.items():
        again = losses[:2][-1]  # the first time may be setting up
        if key not in otherwise:
            yield Overwritten(again.name, again.times, again.site, again.used, len(losses))


def _before(run: Pass, one: Statement) -> list[Execution]:
    """The last executions of a statement before a pass, in one loop that is over by then."""
    assert run.where is not None
    at = bisect_left(one.executions, run.moment, key=lambda each: each.moment)
    if not at:
        return []
    last = one.executions[at - 1]
    level = next((each for each in run.where.levels if each.call == last.call), None)
    around = tuple((each.entry, each.number) for each in level.iterations) if level is not None else ()
    depth = len(around)
    if len(last.iterations) <= depth or last.iterations[:depth] != around:
        return []
    loop, begin = last.iterations[depth][0], at - 1
    while begin and _is_within(one.executions[begin - 1], last.call, depth, loop):
        begin -= 1
    return list(one.executions[begin:at])


def _name(run: Pass, one: Statement, several: list[Execution]) -> str:
    """The name whose value a pass reads, or starts from if the call is over that gave it out; else ""."""
    assert run.where is not None
    if any(level.call == several[-1].call for level in run.where.levels):
        return next((name for name in one.gives if name in run.reads), "")
    started = any(each.first <= root.node < each.end for each in several for root in run.roots)
    return one.gives[0] if started else ""


def _began(one: Execution, last: Execution, first: dict[tuple[int, int], int]) -> int:
    """The first node of the iterations that an execution has not in common with the last."""
    return min((first[each] for each in one.iterations if each not in last.iterations), default=one.first)


def _first_nodes(history: History) -> dict[tuple[int, int], int]:
    """The first node of each iteration of a loop, by entry and number."""
    found: dict[tuple[int, int], int] = {}
    for one in history.built.statements:
        for each in one.executions:
            for iteration in each.iterations:
                found[iteration] = min(found.get(iteration, each.first), each.first)
    return found


def _is_within(one: Execution, call: int, depth: int, loop: int) -> bool:
    return one.call == call and len(one.iterations) > depth and one.iterations[depth][0] == loop


def _trains(history: History, run: Pass) -> bool:
    """A derivative within the forward does not train, unless it is taken for parameters of an optimizer, whose
    gradients may be set from it."""
    return run.call == "backward" or bool(history.optimizers_of(run.asked))


def _all_looked_at(history: History, first: Execution, run: Pass) -> bool:
    """Were all passes from the one before an execution up to this one looked at?"""
    begin = bisect_left(history.passes, first.moment, key=lambda one: one.moment)
    before = [one for one in history.passes[:begin] if one.call == run.call][-1:]
    between = [one for one in history.passes[begin:] if one.moment <= run.moment]
    first_of_all = run.count in (0, sum(one.call == run.call for one in between))
    return (bool(before) or first_of_all) and _none_missing([*before, *between])


# Parts of a loss that are left out


def left_out(history: History) -> list[LeftOut]:
    """Parts of losses that no pass uses, as often as it is known."""
    used = sorted({node for run in history.passes for node in run.used or ()})
    found: dict[Site, LeftOut] = {}
    known: dict[Site, list[Execution]] = {}  # of each statement, those executions of which it is known
    for number in history.numbers:
        built = _built_by(history, number.node)
        if built is None or built[0].site in found or meets(used, number.node, number.node + 1):
            continue
        if _is_read_elsewhere(history, number):
            continue
        statement, execution = built
        offset = number.node - execution.first
        if statement.site not in known:
            known[statement.site] = [one for one in statement.executions if is_judged(history, one)]
        judged = known[statement.site]
        vain = [one for one in judged if not meets(used, one.first + offset, one.first + offset + 1)]
        if len(vain) >= AGAIN and len(vain) == len(judged):
            part = _part(history, number, statement, used)
            found.update({statement.site: part} if part is not None else {})
    return list(found.values())


def _is_read_elsewhere(history: History, number: Number) -> bool:
    """Does another pass's statement read that name? Then it is of a forward pass by which a network gives both losses
    each time, to be trained by one of them."""
    here = history.run(number.run).where
    wheres = (one.where for one in history.passes if number.name in one.reads and one.call == "backward")
    return any(here is not None and where is not None and where.site != here.site for where in wheres)


def _part(history: History, number: Number, statement: Statement, used: list[int]) -> LeftOut | None:
    """What makes a number a part of a loss: it lies in one container with a part that is used; or it is the only one to
    train some parameters; or a graph was kept that nothing but it needs; or its function forgets it."""
    run = history.run(number.run)
    left = {node for node in number.under if not meets(used, node, node + 1)}
    alone = number.takes and number.takes.isdisjoint(run.reached)
    if number.beside and number.takers & left and (number.together or alone):
        return _left_out(number, statement.site, run)
    # A sum of parts with a `backward()` each is a figure to be printed.
    if not number.shares or left <= number.sums or not history.optimizers_of(number.leaves):
        return None
    if _kept_for_nothing(history, run):
        user = next((one for one in history.passes if one.call == "backward" and one.moment >= run.moment), None)
        return _left_out(number, statement.site, user, run) if user is not None else None
    return _left_out(number, statement.site, run) if statement.unread and run.call == "backward" else None


def _left_out(number: Number, site: Site, user: Pass, keeper: Pass | None = None) -> LeftOut | None:
    if user.where is None:
        return None
    used = user.where.dated_site
    return LeftOut(
        number.name,
        number.beside or user.receiver,
        len(number.under),
        number.bytes,
        number.parameters,
        replace(site, step=used.step, cell=used.cell),
        used,
        keeper.where.site if keeper is not None and keeper.where is not None else None,
    )


def _kept_for_nothing(history: History, run: Pass) -> bool:
    """Did a pass keep a graph that no later one uses? Where another execution of the same statement kept one that is
    used, this one is an evaluation that goes the way of training: an adaptation to a task, say."""
    if not (run.retains_graph or run.creates_graph) or run.where is None:
        return False
    alike = (one for one in history.passes if one.where is not None and one.where.site == run.where.site)
    return not any(graph_is_used(history, one) for one in alike)


def graph_is_used(history: History, kept: Pass) -> bool:
    """Did a later pass use the graph that this one kept, or the one that it made?"""
    made = range(*kept.created) if len(kept.created) == 2 else range(0)
    later = (one.used or frozenset() for one in history.passes if one.moment > kept.moment)
    return any((kept.used or frozenset()) & used or any(node in made for node in used) for used in later)


def _built_by(history: History, node: int) -> tuple[Statement, Execution] | None:
    """The innermost statement whose execution, calls included, built a node."""
    around = (
        (statement, one)
        for statement in history.built.statements
        for one in statement.executions
        if one.first <= node < one.end
    )
    return min(around, key=lambda one: (one[1].end - one[1].first, -one[1].moment), default=None)
