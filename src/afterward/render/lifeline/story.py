"""What a life line shows, before anything is drawn: lanes, columns, blocks, events and the numbered beats."""

from __future__ import annotations

from dataclasses import dataclass, field

from afterward.model.history import NodeId


@dataclass(frozen=True, slots=True)
class Lane:
    """One row: a variable, a module's line, a parameter or a record that holds part of the graph."""

    name: str
    detail: str = ""  # the source line
    line: int | None = None
    file: str = ""
    role: str = "value"  # "value", "bridge", "written", "kept", "empty"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the graph: what one lane built in one column. `state` is how the last event found it.

    "fresh": alive; "dead": freed by an earlier pass; "spoilt": overwritten; "used": by an earlier pass, saved nothing;
    "kept": alive though nothing needs it; "unused": by no pass; "ghost": what would have been there.
    """

    lane: int
    slot: int
    state: str
    nodes: tuple[NodeId, ...] = ()
    count: int = 0
    bytes: int = 0
    step: str = ""
    facts: tuple[str, ...] = ()
    ends: int | None = None  # the slot of the event that ended its life
    lingers: int | None = None  # the slot up to which it is still within reach, dead or alive
    label: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at one moment: a pass, an optimizer's step, a write, a cut."""

    slot: int
    kind: str  # "pass", "late", "step", "write", "cut"
    title: str
    line: int | None = None
    lanes: tuple[int, ...] = ()  # what it touches
    frees: bool = True
    facts: tuple[str, ...] = ()
    muted: bool = False
    deed: str = ""  # in a word or two, what it does to the graph


@dataclass(frozen=True, slots=True)
class Link:
    """A connection of two blocks (`source` made what `target` reads), or an event's reach into a block."""

    kind: str  # "flow", "bridge"; "reach": from an event (source) back into a block (target)
    source: int
    target: int
    name: str = ""
    misses: bool = False  # what it reaches for is not there any more


@dataclass(frozen=True, slots=True)
class Column:
    """A step, or what lies before, between or after the steps. Slots `first` to `last` belong to it."""

    title: str
    first: int
    last: int
    kind: str = "step"  # "before", "step", "gap", "after", "only"
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Beat:
    """One sentence of the story, pinned to a block or an event."""

    text: str
    block: int | None = None
    event: int | None = None
    tone: str = "plain"  # "plain", "frees", "bridge", "fails", "writes"


@dataclass(frozen=True)
class Story:
    """A whole picture. `moral` says at a glance what went wrong; `fault` in a few words where no arc does."""

    moral: str
    lanes: tuple[Lane, ...] = ()
    columns: tuple[Column, ...] = ()
    blocks: tuple[Block, ...] = ()
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    beats: tuple[Beat, ...] = ()
    kinds: tuple[str, ...] = field(default=())  # what each slot holds: "block", "pass", "step", "gap"
    fault: str = ""

    @property
    def slots(self) -> int:
        return len(self.kinds)
