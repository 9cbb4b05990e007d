"""Builds a story by hand, column after column: for faults of which the record holds passes, not nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.render.lifeline.story import Beat, Block, Column, Event, Lane, Link, Story


class Sheet:
    def __init__(self) -> None:
        self.lanes: list[Lane] = []
        self.columns: list[Column] = []
        self.blocks: list[Block] = []
        self.events: list[Event] = []
        self.links: list[Link] = []
        self.beats: list[Beat] = []
        self.kinds: list[str] = []

    def lane(self, lane: Lane) -> int:
        self.lanes.append(lane)
        return len(self.lanes) - 1

    def column(self, title: str, kind: str = "step", *, fails: bool = False) -> None:
        """Slots that follow belong to this column."""
        self.columns.append(Column(title, len(self.kinds), len(self.kinds) - 1, kind, fails))
        if kind == "gap":
            self.slot("gap")

    def rounds(self, times: int, shown: int, name: str) -> Iterator[bool]:
        """A column for each of the first rounds and for the last one, which is told; those between are folded."""
        count = min(times, shown)
        for number in range(1, count + 1):
            last = number == count
            if last and times > count:
                self.column(f"{times - count:,} more{f' {name}s' if name else ''}", "gap")
            self.column(f"{name} {times if last else number:,}" if name else "")
            yield last

    def slot(self, kind: str) -> int:
        self.kinds.append(kind)
        self.columns[-1] = replace(self.columns[-1], last=len(self.kinds) - 1)
        return len(self.kinds) - 1

    def block(self, lane: int, state: str, label: str = "", *, facts: tuple[str, ...] = (), bytes: int = 0) -> int:
        step = self.columns[-1].title if self.columns[-1].kind == "step" else ""
        slot = self.slot("block")
        self.blocks.append(Block(lane, slot, state, bytes=bytes, step=step, facts=facts, label=label))
        return len(self.blocks) - 1

    def event(self, event: Event) -> int:
        """The event in a slot of its own."""
        slot = self.slot("pass" if event.kind in ("pass", "late") else "step")
        self.events.append(replace(event, slot=slot))
        return len(self.events) - 1

    def end(self, block: int, event: int | None, *, lingers: bool = False) -> None:
        """The block lives until that event; without one, to the end of the picture."""
        slot = self.events[event].slot if event is not None else len(self.kinds) - 1
        self.blocks[block] = replace(self.blocks[block], ends=slot, lingers=len(self.kinds) - 1 if lingers else None)

    def say(self, text: str, tone: str = "plain", *, block: int | None = None, event: int | None = None) -> None:
        self.beats.append(Beat(text, block, event, tone))

    def story(self, moral: str, fault: str = "") -> Story:
        return Story(
            moral,
            tuple(self.lanes),
            tuple(self.columns),
            tuple(self.blocks),
            tuple(self.events),
            tuple(self.links),
            tuple(self.beats),
            tuple(self.kinds),
            fault,
        )
