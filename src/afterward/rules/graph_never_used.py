"""AFT305: operations are recorded that no backward ever uses."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Remedy, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules._built import Unused, left_out, never_read, overwritten, unused
from afterward.rules._often import SEVERAL
from afterward.rules._registry import rule
from afterward.rules._silent import left_without, warning

NODES = 50  # that it built
SHARE = 0.1  # of all nodes that were recorded


@rule("AFT305", Severity.INFO, breaks=4)
def graph_never_used(history: History) -> Iterator[Diagnosis]:
    """A forward pass is recorded, and no `backward()` uses it: evaluation without `no_grad`, an output not used."""
    # AFT304: it is a loss.
    told = [*(one.site for one in overwritten(history)), *(one.site for one in left_out(history))]
    told += [one.site for one in never_read(history) if left_without(history)]
    found = [one for one in unused(history) if not any(one.site.same_lines(site) for site in told)]
    recorded = history.built.nodes
    much = sorted((one for one in found if _is_much(history, one)), key=lambda one: -one.nodes)
    # A function that is called from such a statement is part of it: the largest stands for all.
    for one in (much or [one for one in never_read(history) if one in found])[:1]:
        yield warning(
            one.site,
            facts.count("nodes", one.nodes, "node"),
            facts.count("times", one.times, "run"),
            facts.share("share", one.nodes / recorded),
            facts.count("judged", one.judged, "run"),
            facts.code("name", one.name),
            # Between passes its value may go on into a loss, without its graph: whether that is meant is not known, but
            # of an evaluation.
            remedy=Remedy("no_grad", Effect.SAME_GRADIENTS, "" if one.after_last or one.apart else "between", one.site),
            form="unread" if not much else "at_end" if one.after_last else "",
            nodes=one.nodes,
        )


def _is_much(history: History, one: Unused) -> bool:
    """In evaluation mode a graph is never wanted. How many nodes there are otherwise is known of a run alone."""
    much = one.judged >= SEVERAL and one.nodes >= max(NODES, SHARE * history.built.nodes)
    return one.evaluates or (history.observed and much)


def _words(how: str) -> Words:
    return Words(
        fault="a graph is recorded that no `backward()` uses",
        headline="<{name} is computed with a graph><!name:a graph is recorded here> that no `backward()` uses",
        why="Each operation on a parameter is recorded, and what its backward would need is saved, until the result is "
        f"dropped. <Of the {{judged}} that could be checked ({how}), no `backward()` used a single node.><!judged:No "
        "`backward()` uses it.>",
        labels={
            "fault": "<recorded {nodes} in {times}, {share} of all that was recorded><!nodes:is recorded, and "
            "never used>"
        },
    )


WORDS = {
    "unread": Words(
        fault="a value is computed with its graph, and nothing reads it",
        headline="{name} is computed with its graph, and nothing reads it",
        why="No statement reads {name}, and no `backward()` [went|goes] through its graph< ({judged} that could be "
        "judged)>. If it is a part of the loss, it is missing there; if not, it is computed for nothing.",
        labels={"fault": "{name} is given a value here, and is never read"},
    ),
    "": _words("every later `backward()` was looked at"),
    "at_end": _words("no `backward()` came after them"),
}
