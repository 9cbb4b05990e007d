"""AFT512: the memory ran out: what the graphs held of it, what kept them, how they grew, or that none was to blame."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Role, Severity
from afterward.model.history import History, Kept, Pass
from afterward.model.raised import Raised
from afterward.model.words import Words
from afterward.rules._kept import records
from afterward.rules._registry import rule

GROWN = 1.5  # times the saved values of the first `backward()`: less is the size of a batch


@rule("AFT512", Severity.ERROR)
def out_of_memory(history: History) -> Iterator[Diagnosis]:
    """The memory ran out: what graphs held of it, and whether they were to blame."""
    return (_diagnosis(history, one) for one in history.raised if "AFT512" in one.rules[:1])


def _diagnosis(history: History, one: Raised) -> Diagnosis:
    site = one.where.dated_site
    kept = max(records(history), key=lambda each: each.nodes, default=None)
    measured = [run for run in history.passes if run.bytes]
    keeping = next((run for run in reversed(history.passes) if run.retains_graph and run.where is not None), None)
    form = _form(kept, measured, keeping)
    labels = [Label(kept.site, "keeps")] if kept is not None and kept.site is not None else []
    if form == "retained" and keeping is not None and keeping.where is not None:
        labels.append(Label(keeping.where.site, "retains"))
    return Diagnosis(
        Label(site, Role.FAULT),
        tuple(labels),
        form,
        (*_held(kept), *_sizes(history, measured)),
        remedies=(Remedy("follow_page", Effect.SKETCH, form, site, facts=tuple(_target(kept))),),
        reused=site,
        bridge=Bridge(kept.name, "local", kept.site) if kept is not None else None,
        nodes=kept.nodes if kept is not None else 0,
        bytes=kept.bytes if kept is not None else max((run.bytes for run in measured), default=0),
    )


def _form(kept: Kept | None, measured: list[Pass], keeping: Pass | None) -> str:
    if kept is not None:
        return "kept"
    if len(measured) > 1 and measured[-1].bytes > GROWN * measured[0].bytes:
        return "grown"
    return "retained" if keeping is not None else "" if measured else "unknown"


def _target(kept: Kept | None) -> Iterator[facts.Fact]:
    if kept is not None:
        yield facts.code("target", kept.name)


def _held(kept: Kept | None) -> Iterator[facts.Fact]:
    if kept is not None:
        yield facts.code("name", kept.name)
        yield facts.count("steps", kept.steps, "step")
        yield facts.count("nodes", kept.nodes, "node")
        yield facts.size("bytes", kept.bytes)


def _sizes(history: History, measured: list[Pass]) -> Iterator[facts.Fact]:
    yield facts.count("passes", len(history.passes), "backward pass")
    if measured:
        yield facts.size("peak", max(run.bytes for run in measured))
        yield facts.size("first", measured[0].bytes)
        yield facts.size("last", measured[-1].bytes)


def _words(headline: str, why: str, help: str, form: str) -> Words:
    return Words(
        fault="the memory ran out",
        headline=headline,
        why=why,
        labels={
            "fault": "this allocation failed",
            "keeps": "<holds the graphs of {steps} ({nodes}<, {bytes} of saved values>)>",
            "retains": "keeps its graph until the next one replaces it",
        },
        helps={("follow_page", form): help},
    )


_ONE = "The graph of one `backward()` saved {peak} at most"
WORDS = {
    "kept": _words(
        "the memory ran out while {name} keeps the graphs of {steps}",
        "{name} holds {nodes}< and {bytes} of saved values> that no `backward()` uses again.< " + _ONE + ".>",
        "store numbers or detached tensors in {target}, so that each graph is freed when its step is over",
        "kept",
    ),
    "grown": _words(
        "the memory ran out: the graph of one `backward()` grew from {first} to {last}",
        "Each `backward()` goes through more than the previous one, so something of earlier steps is still "
        "connected to the loss.",
        "detach what is carried from step to step",
        "grown",
    ),
    "retained": _words(
        "the memory ran out while `retain_graph=True` keeps graphs",
        f"<{_ONE}. >`retain_graph=True` keeps the graph of one beyond its use: two are in memory while the next one is "
        "built.",
        "remove `retain_graph=True` where no later `backward()` needs the graph",
        "retained",
    ),
    "": _words(
        "the memory ran out, and no graph is kept beyond its step",
        f"<{_ONE}, and each was freed. >What is left is the model, the gradients, the optimizer's state, the batch, "
        "or tensors that the program keeps without a graph.",
        "use a smaller batch and add up gradients over several, `torch.utils.checkpoint`, or `torch.autocast`; "
        "`afterward run --memory` shows what each line saves",
        "",
    ),
    "unknown": _words(
        "the memory ran out before a graph was measured",
        "No `backward()` had run with saved values to measure. A forward pass saves values for `backward()` unless it "
        "runs under `torch.no_grad()`.",
        "use a smaller batch; evaluate under `torch.no_grad()`",
        "unknown",
    ),
}
