"""What a story about a failed pass says: its headline, and the numbered sentences."""

from __future__ import annotations

from collections.abc import Iterable

from afterward.model.diagnosis import Diagnosis
from afterward.model.history import Pass, Step, Write
from afterward.model.reuse import Reuse
from afterward.model.site import Where
from afterward.render.lifeline.lanes import Lanes
from afterward.render.lifeline.story import Beat, Block, Event
from afterward.render.lifeline.timing import Clock, is_step
from afterward.render.template import capital


class Words:
    """The wording, apart from the arranging: `broken._Telling` fills these in."""

    found: Diagnosis
    reuse: Reuse
    late: Pass
    clock: Clock
    lanes: Lanes
    blocks: list[Block]
    block_of: dict[int, int]

    def _bridges(self) -> list[tuple[int, int]]:
        raise NotImplementedError

    def _goal(self) -> int | None:
        raise NotImplementedError

    def _slots_of(self, event: Pass | Step | Write) -> Iterable[tuple[object, int]]:
        raise NotImplementedError

    def _bridge_name(self) -> str:
        return self.found.bridge.name if self.found.bridge is not None else ""

    def _when(self, where: Where | None, moment: int) -> str:
        return self.clock.title(self.clock.column(where, moment))

    def _moral(self) -> str:
        late_when = self._when(self.late.where, self.late.moment)
        call = _call(self.late)
        if self.late.error == "inplace":
            what = self._written_name()
            what = f"`{what}`" if what != "a saved value" else what
            return f"{_owner(late_when, call)} needs the original {what}, but it was overwritten"
        early = self.reuse.early
        who = "an earlier `backward()`" if early is None else self._pass_name(early)
        if self.late.error == "ddp_ready_twice":
            return f"{_owner(late_when, call)} goes through a forward pass that {who} already used"
        if self.reuse.starts_in_stale:
            return f"{_owner(late_when, call)} needs a graph that {who} already freed"
        name = self._bridge_name()
        through = f"through `{name}` " if name else ""
        return f"{_owner(late_when, call)} reaches {through}into a graph that {who} already freed"

    def _written_name(self) -> str:
        leaf, write = self.reuse.written, self.reuse.write
        if leaf is not None and leaf.name:
            return leaf.name
        return write.target if isinstance(write, Write) else "a saved value"

    def _pass_name(self, run: Pass) -> str:
        when = self._when(run.where, run.moment)
        late_when = self._when(self.late.where, self.late.moment)
        line = f" on line {run.where.site.line}" if run.where is not None else ""
        if when and when != late_when:
            return f"{when}'s {_call(run)}" if is_step(when) else f"the {_call(run)}{line}"
        return f"the {_call(run)}{line}"

    def _beats(self, events: list[Event]) -> list[Beat]:
        by_slot = {event.slot: number for number, event in enumerate(events)}
        late = next((n for n, event in enumerate(events) if event.kind == "late"), None)
        if self.late.error == "inplace":
            return self._written_beats(events, late)
        goal = self._goal()
        beats = []
        if goal is not None:
            block = self.blocks[goal]
            beats.append(Beat(f"{self._made(goal)} builds this part of the graph{_in(block.step)}.", block=goal))
        early = self.reuse.early
        if early is not None:
            slot = next((s for _, s in self._slots_of(early)), None)
            sure = "" if self.reuse.certain else " (inferred from the order of calls)"
            ends = "uses it" if early.retains_graph else "uses it and frees what it saved"
            name = capital(self._pass_name(early))
            beats.append(
                Beat(f"{name} {ends}{sure}.", event=by_slot.get(slot) if slot is not None else None, tone="frees")
            )
        for _, target in self._bridges():
            block = self.blocks[target]
            name = f"`{self._bridge_name()}`" if self._bridge_name() else "A value"
            beats.append(
                Beat(
                    f"{name} is still connected to it, and {self._made(target).lower()} uses it{_in(block.step)}.",
                    block=target,
                    tone="bridge",
                )
            )
        end = "what it needs is gone" if self.late.error != "ddp_ready_twice" else "uses it a second time"
        beats.append(Beat(f"{capital(self._late_name())} {self._follows()}, and {end}.", event=late, tone="fails"))
        return beats

    def _late_name(self) -> str:
        when, early = self._when(self.late.where, self.late.moment), self.reuse.early
        line = f" on line {self.late.where.site.line}" if self.late.where is not None else ""
        alone = early is None or self._when(early.where, early.moment) != when
        return f"{when}'s {_call(self.late)}" if is_step(when) and alone else f"the {_call(self.late)}{line}"

    def _follows(self) -> str:
        return "starts from the same graph" if self.reuse.starts_in_stale else "goes back into it"

    def _made(self, block: int) -> str:
        site = self.lanes.sites[self.blocks[block].lane]
        return f"Line {site.line}" if site is not None else "Code outside of your files"

    def _written_beats(self, events: list[Event], late: int | None) -> list[Beat]:
        reader = self.block_of.get(self.reuse.culprit.id)
        name = f"`{self._written_name()}`" if self._written_name() != "a saved value" else "a value"
        beats = []
        if reader is not None:
            block = self.blocks[reader]
            beats.append(
                Beat(
                    f"{self._made(reader)} computes with {name} and saves it for backward{_in(block.step)}.",
                    block=reader,
                )
            )
        write = next((n for n, event in enumerate(events) if event.kind == "write"), None)
        if write is not None:
            event = events[write]
            line = f" on line {event.line}" if event.line is not None else ""
            who = f"`{event.title}`{line}" if isinstance(self.reuse.write, Step) else f"Line {event.line}"
            beats.append(Beat(f"{who} changes it in place: the saved values are gone.", event=write, tone="writes"))
        beats.append(
            Beat(
                f"{capital(self._late_name())} needs the original values of {name}, and fails.",
                event=late,
                tone="fails",
            )
        )
        return beats


def _call(run: Pass) -> str:
    return "`autograd.grad()`" if run.call == "grad" else "`backward()`"


def _in(step: str) -> str:
    return f" in {step}" if is_step(step) else f" {step}" if step else ""


def _owner(when: str, call: str) -> str:
    return f"{when}'s {call}" if is_step(when) else f"this {call}"
