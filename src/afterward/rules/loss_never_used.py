"""AFT304: losses whose graph is dropped unused, though training was meant."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules._built import LeftOut, Overwritten, Unused, left_out, never_read, overwritten
from afterward.rules._registry import rule
from afterward.rules._silent import left_without, warning


@rule("AFT304", Severity.WARNING, breaks=4)
def loss_never_used(history: History) -> Iterator[Diagnosis]:
    """A loss is computed and `backward()` is never called on it: it is overwritten, or left out of the sum."""
    for loss in overwritten(history):
        yield _overwritten(loss)
    for part in left_out(history):
        yield _left_out(part)
    without = left_without(history)
    for one in never_read(history) if without else ():
        yield _unread(history, one, without)


def _unread(history: History, one: Unused, without: frozenset[int]) -> Diagnosis:
    names = (history.leaf(leaf).name for leaf in without)
    return warning(
        one.site,
        facts.code("name", one.name),
        facts.count("times", one.judged, "time"),
        facts.count("parameters", len(without), "parameter", measured=False),
        facts.names("who", tuple(sorted(filter(None, names)))),
        remedy=Remedy(
            "combine_losses",
            Effect.CHANGES_GRADIENTS,
            "left_out",
            one.site,
            one.name,
            facts=(facts.code("target", one.name),),
        ),
        form="unread",
        bridge=Bridge(one.name, "local"),
        nodes=one.nodes,
    )


def _overwritten(loss: Overwritten) -> Diagnosis:
    name = facts.code("name", loss.name)
    return warning(
        loss.site,
        name,
        facts.count("times", loss.times, "time"),
        facts.lines("backward", loss.used),
        remedy=Remedy(
            "combine_losses",
            Effect.CHANGES_GRADIENTS,
            "each_iteration",
            loss.site,
            loss.name,
            facts=(facts.code("target", loss.name),),
        ),
        form="overwritten",
        secondary=(Label(loss.used, "used"),),
        bridge=Bridge(loss.name, "local"),
        freed=loss.used,
    )


def _left_out(part: LeftOut) -> Diagnosis:
    return warning(
        part.site,
        facts.code("name", part.name),
        facts.code("other", part.used_part),
        facts.count("nodes", part.nodes, "node"),
        facts.size("bytes", part.bytes),
        facts.count("parameters", part.parameters, "parameter", measured=False),
        facts.lines("backward", part.used),
        remedy=Remedy(
            "combine_losses",
            Effect.CHANGES_GRADIENTS,
            "left_out",
            part.site,
            part.name,
            facts=(facts.code("target", part.name),),
        ),
        form="left_out",
        secondary=(Label(part.used, "used"),),
        bridge=Bridge(part.name, "item"),
        nodes=part.nodes,
        size=part.bytes,
        freed=part.used,
    )


WORDS = {
    "overwritten": Words(
        fault="losses are overwritten before `backward()` is called on them",
        headline="{name} is overwritten before `backward()` is called on it",
        why="Each iteration builds a graph and gives {name} a new value; the `backward()` on {backward} comes after "
        "the loop and uses only the last one. The other losses are dropped: they have no effect on training.",
        labels={
            "fault": "{name} is computed <{times} for each `backward()`, and used once><!times:in each iteration, and "
            "used once, after the loop>",
            "used": "uses only the last one",
        },
    ),
    "unread": Words(
        fault="a value that should train parameters is never read",
        headline="{name} is never read, so the parameters that it should train get no gradient",
        why="No statement reads {name}, and no `backward()` [went|goes] through its graph< ({times} that were looked "
        "at)>, while an optimizer [stepped|steps] <{who}><!who:{parameters}> without a gradient. What was meant to "
        "train them has no effect on training.",
        labels={"fault": "{name} is given a value here, and is never read"},
    ),
    "left_out": Words(
        fault="`backward()` is never called on a part of the loss",
        headline="`backward()` is never called on {name}",
        why="{name} [was|is] computed from {parameters}, like {other}, which the `backward()` on {backward} uses. "
        "<?nodes:In the steps that were looked at, no `backward()` went through it: ><!nodes:No `backward()` goes "
        "through it: >it has a value, and no effect on training.",
        labels={
            "fault": "{name} has a graph of its own< ({nodes}<, {bytes}>)>, and no `backward()` uses it",
            "used": "uses {other} without it",
        },
    ),
}
