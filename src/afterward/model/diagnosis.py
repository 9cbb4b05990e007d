"""What a rule has to say: a fault, its labelled places, and the changes that would cure it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from afterward.model.facts import Fact, Note
from afterward.model.memory import Memory
from afterward.model.site import Site


class Severity(str, Enum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Effect(str, Enum):
    """What a remedy does to the gradients."""

    SAME_GRADIENTS = "same_gradients"
    CUTS_GRADIENTS = "cuts_gradients"
    CHANGES_GRADIENTS = "changes_gradients"
    SKETCH = "sketch"


class Certainty(str, Enum):
    """How a finding is known: the tense of its sentences follows from it."""

    OBSERVED = "observed"
    INFERRED = "inferred"  # it happened; a part of it was worked out, not seen
    PREDICTED = "predicted"  # nothing was run


class Role(str, Enum):
    """What a labelled place has to do with the fault. A rule may have roles of its own, named in its words."""

    FAULT = "fault"  # of a fault that raises nothing: the statement that the report is about
    BUILT = "built"
    FREED = "freed"
    REUSED = "reused"
    READ = "read"  # where the value that leads to the old part is read again
    WRITTEN = "written"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the reader's source and its role. Its words are the rule's template for that role."""

    site: Site
    role: str = Role.FAULT
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Bridge:
    """The name through which a later pass reaches the freed part."""

    name: str
    kind: str
    site: Site | None = None
    of_parts: bool = False  # it holds several tensors that lead there
    from_none: bool = False  # and may hold None
    filled: int = 0  # places of the container that it lies in which statements fill, one by one


@dataclass(frozen=True, slots=True)
class Proof:
    """What happened when a patched program was run under the observer."""

    status: str  # "proven", "failed", "not_proven" (it had to be stopped early), "not_applicable", "checked" (not run)
    notes: tuple[Note, ...] = ()  # what was seen; their sentences stand in `render.proofs`
    passes: int = 0
    peak_graph_bytes: int = 0
    same_gradients: bool | None = None  # compared with another remedy, or with the steps that ran before; None: not


class Form(str, Enum):
    """Where a cut goes. Other kinds of remedies have forms of their own, named where their words stand."""

    STEP_START = "step_start"
    STORED = "stored"  # where the value is put into what keeps it
    READ = "read"
    READ_LATE = "read_late"  # in the loss of the later backward
    READ_EARLY = "read_early"  # in the loss of the earlier one
    READ_OTHER = "read_other"  # in each loss that is not meant to train what the value was computed with
    MADE = "made"
    UNTRAINED = "untrained"  # there too: no optimizer holds what the value was computed with


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change: its kind, what it is done to, where, and what it does to the gradients. It holds no sentence.

    `patch` is the change as a unified diff, and `proof` what became of it: `fix` fills them in.
    """

    kind: str
    effect: Effect
    form: str = ""  # which of the ways of its kind: where the edit goes, or what it is made of
    site: Site | None = None
    target: str = ""
    statement: str = ""  # source that the remedy is made of, where a rule knows it
    facts: tuple[Fact, ...] = ()
    also: tuple[str, ...] = ()  # what else is changed in the same way
    patch: str | None = None
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Ways:
    """How the program got to the places of a fault: the statements on the stack, outermost first."""

    built: tuple[Site, ...] = ()
    freed: tuple[Site, ...] = ()
    reused: tuple[Site, ...] = ()
    written: tuple[Site, ...] = ()
    loop: Site | None = None  # the loop whose iterations the report counts as steps
    assigned: Site | None = None  # the statement that gave the bridge its name


@dataclass(frozen=True, slots=True)
class Condition:
    """A test whose outcome is not known before running, as the source writes it, and the outcome that leads here."""

    test: str
    value: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One fault: where, how it is known, what it is made of. It holds no sentence: `render` makes them."""

    primary: Label
    secondary: tuple[Label, ...] = ()
    form: str = ""  # which words of its rule, where it has several
    facts: tuple[Fact, ...] = ()
    notes: tuple[Note, ...] = ()
    retain: Note | None = None  # what `retain_graph=True` would do
    certainty: Certainty = Certainty.OBSERVED
    conditions: tuple[Condition, ...] = ()  # a prediction: what must be so for it to happen
    remedies: tuple[Remedy, ...] = ()
    built: Site | None = None
    freed: Site | None = None
    reused: Site | None = None
    written: Site | None = None
    cut: Site | None = None
    bridge: Bridge | None = None
    other_bridges: tuple[Bridge, ...] = ()  # further values that lead to the same part
    ways: Ways = Ways()
    nodes: int = 0
    bytes: int = 0
    caught: bool = False
    always: bool = True  # a prediction: happens whatever the values are that the source does not tell
    code: str = ""  # stamped by @rule, with the two below
    name: str = ""
    severity: Severity = Severity.ERROR

    @property
    def key(self) -> tuple[str, str, int]:
        """What it is and where: two of one key are one fault, told twice."""
        return self.code, self.primary.site.file, self.primary.site.line

    @property
    def bridges(self) -> tuple[Bridge, ...]:
        """All values that lead to the part, the best one first."""
        return (self.bridge, *self.other_bridges) if self.bridge is not None else ()


@dataclass(frozen=True, slots=True)
class NotAnalysed:
    """A place that a check did not look at, and why: no finding there says nothing."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What a check has looked at, so that "clean" and "did not look" can be told apart."""

    files: int
    training_loops: int
    not_analysed: tuple[NotAnalysed, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All that one command found, with the program it was about."""

    argv: tuple[str, ...]
    findings: tuple[Diagnosis, ...] = ()
    gaps: tuple[str, ...] = ()
    exit: int | None = None
    error: str | None = None
    torch: str | None = None
    summary: str = ""
    memory: Memory | None = None  # the account, where one was asked for
    rank: int | None = None  # of the process among those of a job
    ranks: int | None = None  # how many there are
    looked_at: LookedAt | None = None  # by a check
