"""AFT900: a comment that silences nothing. It is found in the text, not in a History."""

from __future__ import annotations

from afterward.model.diagnosis import Diagnosis, Label, Severity
from afterward.model.site import Site
from afterward.model.words import Words

CODE = "AFT900"


def unused_ignore(site: Site) -> Diagnosis:
    return Diagnosis(Label(site), code=CODE, name="unused-ignore", severity=Severity.INFO)


WORDS = Words(
    fault="this comment silences nothing",
    headline="this comment silences nothing",
    labels={"fault": "nothing is found on this line"},
)
