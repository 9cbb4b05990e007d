"""AFT105: one network's output enters another network's loss, and the two are swept separately."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Form, Severity
from afterward.model.history import History
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of
from afterward.rules._report import diagnosis


@rule("AFT105", Severity.ERROR)
def output_not_detached(history: History) -> Iterator[Diagnosis]:
    """The output of one network enters another one's loss without a cut, and both are swept."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "second_backward" else None
        if case is not None and case.cause is Cause.OUTPUT_NOT_DETACHED:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    name = say.name_of(case, "the output")
    owners = say.owners_of_old_part(case)
    trained = f", which {' and '.join(f'`{one}`' for one in owners)} train{'s' * (len(owners) == 1)}" if owners else ""
    # What the earlier pass was for was stepped in between: the cut belongs into that one.
    form = Form.READ_EARLY if case.meant_for_late else Form.READ_LATE
    remedies = (remedy.detach_input(case, form), remedy.recompute_forward(case))
    if case.meant_for_late and case.next_turn_meets_it:
        remedies = remedies[::-1]  # with the cut there, the next turn would meet what this one has freed
    return diagnosis(
        case,
        why=f"{name} comes from another network{trained}, and enters two losses that are swept separately. "
        f"{say.freed_by(case).capitalize()} went through it into that network and freed its graph.",
        built_text=f"{name} comes from the other network",
        remedies=remedies,
    )
