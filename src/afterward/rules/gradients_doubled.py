"""AFT403: the same loss is counted twice in one gradient."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.facts import Fact, FactKind
from afterward.model.history import History, Pass
from afterward.model.words import Words
from afterward.rules._often import AGAIN, SEVERAL
from afterward.rules._registry import rule
from afterward.rules._silent import passes_by_site, site_of, warning


@rule("AFT403", Severity.WARNING, breaks=5)
def gradients_doubled(history: History) -> Iterator[Diagnosis]:
    """`backward()` adds the gradients of a loss that an earlier one already added; nothing was cleared in between."""
    for runs in passes_by_site(history):
        pairs = [(earlier, run) for run in runs if (earlier := _already_added(history, run)) is not None]
        if len(pairs) >= AGAIN:
            yield _diagnose(*pairs[0])
            continue
        pairs = [(earlier, run) for run in runs if (earlier := _computed_before(history, run)) is not None]
        # A loss that is the same step after step is a constant, and says nothing about the batch.
        if len(pairs) >= SEVERAL and len({run.value for _, run in pairs}) > 1:
            shares = all(_shared(*pair) for pair in pairs)
            yield _diagnose(*pairs[0]) if shares else _diagnose_fresh(*pairs[0], len(pairs))


def _already_added(history: History, run: Pass) -> Pass | None:
    """An earlier pass of the same step, from a loss that lies within the graph of this one."""
    filled = history.ledger.filled(run.id)
    if run.call != "backward" or not filled:
        return None
    for earlier in reversed(history.passes):
        if earlier.moment >= run.moment or earlier.window != run.window or earlier.call != "backward":
            continue
        again = earlier.reached & run.reached
        if not again or not again <= filled:
            return None  # zeroed or used in between, at least what an optimizer holds
        if any(edge.node in (run.used or ()) for edge in earlier.roots):
            return earlier
    return None


def _computed_before(history: History, run: Pass) -> Pass | None:
    """The pass just before this one, if it used another graph of the very same loss: same leaves, size and value.

    `loss.mean().backward()`, written twice, is one: each makes a mean of its own. Both were reached by different ways.
    A loop that accumulates gradients gets to each pass by the same one.
    """
    if run.call != "backward" or run.value is None or not math.isfinite(run.value) or run.value == 0.0:
        return None
    before = [other for other in history.passes if other.moment < run.moment]
    earlier = before[-1] if before else None
    if earlier is None or earlier.window != run.window or earlier.call != "backward" or earlier.used is None:
        return None
    same = earlier.value == run.value and len(earlier.used) == len(run.used or ())
    unused = bool(run.reached) and earlier.reached == run.reached and history.ledger.filled(run.id) == run.reached
    return earlier if same and unused and _way(earlier) != _way(run) else None


def _shared(earlier: Pass, run: Pass) -> bool:
    """Do both passes go through one forward pass?"""
    return bool((earlier.used or frozenset()) & (run.used or frozenset()))


def _way(run: Pass) -> tuple[tuple[str, int], ...]:
    return tuple((level.site.file, level.site.line) for level in run.where.levels) if run.where is not None else ()


def _diagnose(earlier: Pass, run: Pass) -> Diagnosis:
    first, site = site_of(earlier), site_of(run)
    return warning(
        site,
        facts.lines("first", first),
        facts.code("value", earlier.receiver),
        Fact("sum", FactKind.VERBATIM, "sum" if len(earlier.used or ()) < len(run.used or ()) else ""),
        remedy=_remedy(run),
        secondary=(Label(first, "first"),),
        bridge=Bridge("grad", "attribute"),
        nodes=len(run.used or ()),
        freed=site,
    )


def _diagnose_fresh(earlier: Pass, run: Pass, times: int) -> Diagnosis:
    first, site = site_of(earlier), site_of(run)
    return warning(
        site,
        facts.lines("first", first),
        facts.code("value", earlier.receiver),
        Fact("loss", FactKind.VERBATIM, f"{run.value:.6g}", measured=True),
        facts.count("times", times, "step"),
        remedy=_remedy(run),
        form="fresh",
        secondary=(Label(first, "first"),),
        bridge=Bridge("grad", "attribute"),
        nodes=len(run.used or ()),
        size=run.bytes,
        freed=first,
    )


def _remedy(run: Pass) -> Remedy:
    return Remedy("remove_duplicate", Effect.CHANGES_GRADIENTS, "either", site_of(run))


_FAULT = "the gradients of one loss are added twice"
_HEADLINE = "the gradients of <{value}><!value:one loss> are added twice: on {first} and here"

WORDS = {
    "": Words(
        fault=_FAULT,
        headline=_HEADLINE,
        why="The `backward()` on {first} [already added|adds] the gradients of <{value}><!value:its loss>, and this "
        "one [was|is] called on <?sum:a sum that contains it><!sum:the same loss again>. Nothing [was|is] cleared "
        "in between, so <?sum:that part of the gradient><!sum:the whole gradient> counts twice.",
        labels={"fault": "adds the gradients of {first} again", "first": "[added|adds] these gradients first"},
    ),
    "fresh": Words(
        fault=_FAULT,
        headline=_HEADLINE,
        why="<In {times} that were looked at><!times:In each step>, {first} [called|calls] `backward()` on a loss and "
        "this line on another graph of it: the same parameters, as many nodes, the same value to the last bit. "
        "Nothing [was|is] cleared or updated in between, so every gradient is twice what it should be, and the "
        "forward pass is computed twice.",
        labels={
            "fault": "adds the gradients of the same loss as {first}<, {loss},> once more",
            "first": "[added|adds] these gradients first",
        },
    ),
}
