"""AFT306: a loop hands one sample after the other to layers that take a batch."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Pass, Rows
from afterward.model.site import Site
from afterward.model.words import Words
from afterward.rules._registry import rule
from afterward.rules._silent import passes_by_site, site_of, warning

TIMES = 16  # rows that are taken one by one
LOOKS = 4  # passes over one row each that were looked at
ENTRIES = 2  # into the loop: what comes but once may be a stream


@rule("AFT306", Severity.INFO)
def sample_at_a_time(history: History) -> Iterator[Diagnosis]:
    """The rows of a tensor go through a network one by one, though it takes them all at once."""
    told: set[Site] = set()
    for runs in passes_by_site(history):
        seen = [run for run in runs if run.rows is not None]
        for run in seen:
            rows = run.rows
            if rows is not None and len(rows.at) >= TIMES and rows.apart and rows.site not in told:
                told.add(rows.site)
                yield _diagnose(rows, run, "rows", facts.count("times", len(rows.at), "row"))
        if len(seen) >= LOOKS:
            yield from _each_iteration(history, seen)


def _each_iteration(history: History, seen: list[Pass]) -> Iterator[Diagnosis]:
    """A loop, entered again and again, with a backward for each sample, and a step for each or one after all."""
    rows = [run.rows for run in seen if run.rows is not None]
    runs = [run for run in history.passes if run.moment >= seen[0].moment]
    wheres = [run.where for run in runs if run.where is not None and run.where.site.same_lines(site_of(seen[0]))]
    laps = [lap for where in wheres if (lap := where.innermost_iteration) is not None]
    rest = {(len(one.at), one.tensor, one.nodes, one.loop) for one in rows}
    different = len({place for one in rows for place in one.at}) == len(rows)
    if len(rest) > 1 or not different or rows[0].of < TIMES or len(laps) < len(runs):
        return
    often = max(lap.number for lap in laps)
    steps = len(history.steps_between(runs[0].moment, runs[1].moment))
    if often >= TIMES and len({lap.entry for lap in laps}) >= ENTRIES and steps <= 1:
        form = "steps" if steps else "sums"
        yield _diagnose(rows[0], seen[0], form, facts.count("times", often, "iteration"))


def _diagnose(rows: Rows, run: Pass, form: str, times: facts.Fact) -> Diagnosis:
    used, batched = site_of(run), form == "rows"
    return warning(
        rows.site,
        times,
        facts.code("name", rows.name),
        facts.lines("backward", used),
        facts.count("nodes", rows.nodes, "node"),
        remedy=Remedy(
            "batch_samples", Effect.SAME_GRADIENTS if batched else Effect.SKETCH, "" if batched else form, rows.site
        ),
        form=form,
        secondary=() if rows.loop.same_lines(rows.site) else (Label(rows.loop, "loop"),),
        nodes=rows.nodes,
        freed=used,
    )


WORDS = {
    "rows": Words(
        fault="a batch goes through the network one sample at a time",
        headline="<{name} is computed for><!name:a batch goes through the network> one sample at a time",
        why="The model takes a batch, and no row needs the result of another. As written, every operation runs "
        "and is recorded once for each row< (the `backward()` on {backward} goes through {nodes})>.",
        labels={
            "fault": "[ran|runs] for each <of {times} of><!times:row of> one tensor, before one `backward()`",
            "loop": "this loop takes the batch apart",
        },
    ),
} | {
    form: Words(
        fault="a training loop takes one sample at a time",
        headline="<{name} is computed for><!name:the training loop takes> one sample at a time",
        why="The model takes a batch, and each iteration uses nothing from the one before except the parameters. "
        f"As written, the forward pass{passes} run once for each sample.",
        labels={
            "fault": "runs for one row of a tensor, and {backward} calls `backward()` for it",
            "loop": "each <of its {times}><!times:iteration> takes one sample",
        },
    )
    for form, passes in (("steps", ", the backward pass and the step"), ("sums", " and the backward pass"))
}
