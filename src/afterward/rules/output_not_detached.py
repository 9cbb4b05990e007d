"""AFT105: one network's output is used in another network's loss, and each has its own backward."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Form, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules import _sites as at
from afterward.rules._cause import Case, Cause, cases
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis


@rule("AFT105", Severity.ERROR, breaks=1)
def output_not_detached(history: History) -> Iterator[Diagnosis]:
    """The output of one network is used in another one's loss without `detach()`, and both have their `backward()`."""
    for case in cases(history, Cause.OUTPUT_NOT_DETACHED):
        yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    # What the earlier pass was for was stepped in between: the cut belongs into that one.
    form = Form.READ_EARLY if case.meant_for_late else Form.READ_LATE
    remedies = (remedy.detach_input(case, form), remedy.recompute_forward(case))
    if case.meant_for_late and case.next_iteration_meets_it:
        remedies = remedies[::-1]  # with the cut there, the next iteration would meet what this one has freed
    return diagnosis(case, facts.names("owners", at.owners_of_old_part(case)), remedies=remedies)


WORDS = Words(
    fault="a network's output is used in two losses without `detach()`, each with its own `backward()`",
    headline="<{value}><!value:a network's output> is used in two losses without `detach()`, each with its own "
    "`backward()`",
    why="<{value}><!value:The output> comes from another network<, updated by {owners},> and is used in two "
    "losses, each "
    "with its own `backward()`. {freed_by} [went|goes] through it into that network and [freed|frees] its graph.",
    labels={"built": "<{value}><!value:this> comes from the other network< ({amount})>"},
)
