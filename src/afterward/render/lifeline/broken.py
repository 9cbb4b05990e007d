"""The story of a pass that failed: what it needed again, what had freed it, and through which name it was reached."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from afterward.model.diagnosis import Diagnosis
from afterward.model.figures import human
from afterward.model.history import History, Node, Pass, Step, Write
from afterward.model.operations import operation
from afterward.model.reuse import Reuse
from afterward.render.lifeline import lanes as choosing
from afterward.render.lifeline.story import Block, Event, Lane, Link, Story
from afterward.render.lifeline.timing import Track, clock_of, old_part, passes_touching
from afterward.render.lifeline.words import Words
from afterward.render.source import SourceTexts
from afterward.render.template import counted

MINOR = 2  # events of no account shown in one column, unless there is much to show
CROWDED = 11
TITLE = 28  # letters of a call that is shown as the program writes it


def broken_story(history: History, found: Diagnosis, reuse: Reuse, sources: SourceTexts) -> Story:
    return _Telling(history, found, reuse, sources).story()


class _Telling(Words):
    def __init__(self, history: History, found: Diagnosis, reuse: Reuse, sources: SourceTexts) -> None:
        self.history, self.found, self.reuse, self.sources = history, found, reuse, sources
        self.late = reuse.late
        reached = reuse.stale | reuse.fresh
        self.stale = old_part(history, reuse)
        self.nodes = [node for node in history.nodes if node.id in reached]
        self.vital = {entry.node.id for entry in reuse.entries[:1]} | {reuse.culprit.id}
        self.vital |= {reuse.entry.consumer.id} if reuse.entry.consumer is not None else set()
        self.vital |= {edge.node for edge in self.late.roots}
        self.lanes = choosing.choose(self.nodes, self.late.where, self.vital, found.built)
        self.clock = clock_of(history, reuse)
        self.track = Track(self.clock)
        self.blocks: list[Block] = []
        self.block_of: dict[int, int] = {}
        self.groups = self._grouped()
        self.events = self._events()

    def story(self) -> Story:
        groups, events = self.groups, self.events
        late_column = self._lay(groups, events)
        self._build_blocks(groups, events)
        shown = self._shown_events(events)
        extra = self._written_lane()
        lanes = [self._lane(number) for number in range(len(self.lanes.sites))]
        links = self._links(shown)
        if extra is not None:
            lanes.append(extra)
        return (
            Story(
                moral=self._moral(),
                lanes=tuple(lanes),
                columns=tuple(self.track.columns),
                blocks=tuple(self.blocks),
                events=tuple(shown),
                links=tuple(links),
                beats=tuple(self._beats(shown)),
                kinds=tuple(self.track.kinds),
            )
            if late_column is not None
            else Story(self._moral())
        )

    # What there is, and when

    def _grouped(self) -> dict[tuple[int, int, bool], list[Node]]:
        """Nodes by lane, column, and whether they belong to the old part."""
        groups: dict[tuple[int, int, bool], list[Node]] = {}
        for node in self.nodes:
            column = self.clock.column(node.where, node.moment)
            groups.setdefault((self.lanes.of_node[node.id], column, node.id in self.stale), []).append(node)
        return groups

    def _events(self) -> list[Pass | Step | Write]:
        """The passes that used this graph, what overwrote it, and a few others for the rhythm."""
        early, write = self.reuse.early, self.reuse.write
        chosen: list[Pass | Step | Write] = [self.late]
        here = frozenset(node.id for node in self.nodes)
        touching = passes_touching(self.history, here, self.late)
        chosen += [run for run in (early, *touching) if run is not None and run.id != self.late.id]
        chosen += [write] if write is not None else []
        first = min((node.moment for node in self.nodes), default=0)
        others: list[Pass | Step | Write] = [*self.history.steps, *self.history.passes]
        known = {id(event) for event in chosen}
        seen = {self._statement(event) for event in chosen}  # a column may stand for many iterations of an inner loop
        per_column: Counter[int] = Counter()
        minor: list[Pass | Step | Write] = []
        for event in others:
            statement = self._statement(event)
            if first < event.moment < self.late.moment and id(event) not in known and statement not in seen:
                seen.add(statement)
                per_column[statement[0]] += 1
                minor += [event] if per_column[statement[0]] <= MINOR else []
        if len(self.groups) + len(chosen) + len(minor) <= CROWDED:
            chosen += minor
        unique = {id(event): event for event in chosen}
        return sorted(unique.values(), key=lambda event: event.moment)

    def _statement(self, event: Pass | Step | Write) -> tuple[int, object]:
        """The column that an event is drawn in, and its line."""
        column = self.clock.column(event.where, event.moment)
        return column, event.where.site.line if event.where is not None else id(event)

    def _lay(self, groups: dict[tuple[int, int, bool], list[Node]], events: list[Pass | Step | Write]) -> int | None:
        for key, nodes in groups.items():
            first = min(nodes, key=lambda n: n.order)
            self.track.items.append((key[1], first.moment, "block", key))
        late_column = None
        for number, event in enumerate(events):
            column = self.track.add(("event", number), _slot_kind(event), event.where, event.moment)
            if event is self.late:
                late_column = column
            if any(event is known for known in (self.late, self.reuse.early, self.reuse.write)):
                self.track.vital.add(column)
        for node in self.nodes:
            if node.id in self.vital:
                self.track.vital.add(self.clock.column(node.where, node.moment))
        self.track.lay(late_column if late_column is not None else 0)
        return late_column

    # Blocks

    def _build_blocks(self, groups: dict[tuple[int, int, bool], list[Node]], events: list[Pass | Step | Write]) -> None:
        late_slot = self._slot(events, self.late)
        entered = {entry.node.id for entry in self.reuse.entries}
        for key, nodes in sorted(groups.items(), key=lambda item: self.track.slot_of.get(item[0], -1)):
            slot = self.track.slot_of.get(key)
            if slot is None:  # its column is folded
                continue
            ended = self._ended_by(nodes, events)
            state = self._state(nodes, stale=key[2])
            number = len(self.blocks)
            reached = any(node.id in entered for node in nodes)
            self.blocks.append(
                Block(
                    lane=key[0],
                    slot=slot,
                    state=state,
                    nodes=tuple(sorted(node.id for node in nodes)),
                    count=len(nodes),
                    step=self.clock.title(key[1]),
                    facts=self._facts(nodes, state),
                    ends=self._slot(events, ended) if ended is not None else late_slot,
                    lingers=late_slot if reached and state in ("dead", "used", "spoilt") else None,
                )
            )
            for node in nodes:
                self.block_of[node.id] = number

    def _state(self, nodes: list[Node], *, stale: bool) -> str:
        if not stale:
            return "fresh"
        if self.late.error == "inplace":
            return "spoilt" if any(node.overwritten for node in nodes) else "fresh"
        if any(node.freed for node in nodes) and self.late.error != "ddp_ready_twice":
            return "dead"
        return "used" if self.reuse.early is not None else "fresh"

    def _ended_by(self, nodes: list[Node], events: list[Pass | Step | Write]) -> Pass | Step | Write | None:
        """The first event that took what these nodes had saved."""
        write = self.reuse.write
        if write is not None and any(node.overwritten for node in nodes):
            return write
        numbers = frozenset(node.id for node in nodes)
        made = min(node.moment for node in nodes)
        for event in events:
            if isinstance(event, Pass) and event is not self.late and event.moment > made:
                known = event.used is not None and bool(event.used & numbers)
                assumed = event == self.reuse.early and bool(numbers & self.stale) and event.used is None
                if not event.retains_graph and (known or assumed):
                    return event
        return None

    def _facts(self, nodes: list[Node], state: str) -> tuple[str, ...]:
        ops = Counter(operation(node.op) for node in nodes)
        shown = ", ".join(f"{count}× {op}" if count > 1 else op for op, count in ops.most_common(6))
        more = len(ops) - 6
        lines = Counter(node.where.site.line for node in nodes if node.where is not None)
        facts = [f"{counted(len(nodes), 'node')}: {shown}" + (f" and {more} more kinds" if more > 0 else "")]
        if lines:
            numbers = ", ".join(str(line) for line in sorted(lines)[:8])
            facts.append(f"made on line{'s' if len(lines) > 1 else ''} {numbers}" + ("…" if len(lines) > 8 else ""))
        facts.append(_STATES[state])
        return tuple(facts)

    # Events

    def _slot(self, events: list[Pass | Step | Write], event: Pass | Step | Write) -> int | None:
        number = next((n for n, each in enumerate(events) if each is event), None)
        return self.track.slot_of.get(("event", number)) if number is not None else None

    def _shown_events(self, events: list[Pass | Step | Write]) -> list[Event]:
        shown = []
        for number, event in enumerate(events):
            slot = self.track.slot_of.get(("event", number))
            if slot is not None:
                shown.append(self._event(event, slot))
        return shown

    def _event(self, event: Pass | Step | Write, slot: int) -> Event:
        line = event.where.site.line if event.where is not None else None
        if isinstance(event, Step):
            spoils = event == self.reuse.write
            title = f"{event.optimizer}.step()"
            deed = "overwrites" if spoils else ""
            return Event(slot, "write" if spoils else "step", title, line, muted=not spoils, deed=deed)
        if isinstance(event, Write):
            return Event(slot, "write", f"writes {event.target}", line)
        title = self._pass_title(event)
        used = event.used if event.used is not None else (self.stale if event == self.reuse.early else ())
        touched = {b.lane for b in self.blocks if b.slot < slot and not set(b.nodes).isdisjoint(used)}
        facts = self._pass_facts(event)
        if event is self.late:
            fresh = {b.lane for b in self.blocks if b.slot < slot and b.state == "fresh"}
            return Event(slot, "late", title, line, tuple(sorted(fresh)), facts=facts, deed="fails")
        frees = not event.retains_graph
        deed = "" if not touched else "frees" if frees else "keeps"
        return Event(slot, "pass", title, line, tuple(sorted(touched)), frees, facts, muted=not touched, deed=deed)

    def _pass_title(self, run: Pass) -> str:
        """The call as the program writes it, where it is short and is one."""
        text = self.sources.excerpt(run.where.site) if run.where is not None else ""
        plain = text.split("#")[0].strip().removesuffix("retain_graph=True)")
        plain = plain if plain.endswith(")") or not plain.endswith("(") else plain + ")"
        if len(plain) <= TITLE and ".backward(" in plain and "=" not in plain:
            return plain
        call = "autograd.grad" if run.call == "grad" else "backward"
        named = f"{call}({run.receiver})" if run.receiver else ""
        return named if 0 < len(named) <= TITLE else f"{call}()"

    def _pass_facts(self, run: Pass) -> tuple[str, ...]:
        facts = []
        if run.used is not None and run is not self.late:
            facts.append(f"goes through {counted(len(run.used), 'node')} of this graph")
        if run.bytes:
            facts.append(f"{human(run.bytes)} of saved values as it began")
        if run.retains_graph:
            facts.append("keeps the graph (retain_graph)")
        elif run is not self.late:
            facts.append("frees what it used")
        else:
            facts.append(run.message.split(".")[0] if run.message else "fails")
        return tuple(facts)

    def _written_lane(self) -> Lane | None:
        """What was overwritten gets a row of its own: read here, changed there, needed again."""
        write = self.reuse.write
        if self.late.error != "inplace" or write is None:
            return None
        slot = next((s for (w, s) in self._slots_of(write)), None)
        if slot is None:
            return None
        lane = len(self.lanes.sites)
        leaf = self.reuse.written
        name = leaf.name if leaf is not None and leaf.name else write.target if isinstance(write, Write) else ""
        reader = self.block_of.get(self.reuse.culprit.id)
        read_at = self.blocks[reader].slot if reader is not None else 0
        self.blocks.append(
            Block(lane, read_at, "value", (), 0, 0, "", ("its values as the graph saved them",), slot, slot, "as saved")
        )
        self.blocks.append(
            Block(lane, slot, "changed", (), 0, 0, "", ("new values in the same memory",), label="changed")
        )
        detail = "a parameter" if leaf is not None else "a saved value"
        return Lane(name or "a saved value", detail, role="written")

    def _slots_of(self, event: Pass | Step | Write) -> Iterable[tuple[object, int]]:
        for what, slot in self.track.slot_of.items():
            if isinstance(what, tuple) and what[0] == "event" and self.events[what[1]] is event:
                yield what, slot

    # Lanes

    def _lane(self, number: int) -> Lane:
        site = self.lanes.sites[number]
        if site is None:
            return Lane("elsewhere", "made outside your files")
        more = self.lanes.merged.get(number, 0)
        if more:
            return Lane(f"{more + 1} more lines", "folded", None, site.file)
        text = self.sources.excerpt(site)
        name = self.sources.named(site) or _call_name(text)
        role = "bridge" if self._is_bridge_lane(number) else "value"
        return Lane(name, text, site.line, site.file, role)

    def _is_bridge_lane(self, number: int) -> bool:
        entry = self.reuse.entry
        return entry.consumer is not None and self.lanes.of_node.get(entry.node.id) == number

    # Ways between blocks

    def _links(self, events: list[Event]) -> list[Link]:
        flows: set[tuple[int, int]] = set()
        for node in self.nodes:
            target = self.block_of.get(node.id)
            for edge in node.inputs:
                source = self.block_of.get(edge.node)
                if source is not None and target is not None and source != target:
                    flows.add((source, target))
        bridges = self._bridges()
        links = [Link("flow", source, target) for source, target in sorted(flows - set(bridges))]
        name = self._bridge_name()
        links += [Link("bridge", source, target, name) for source, target in bridges]
        late = next((n for n, event in enumerate(events) if event.kind == "late"), None)
        goal = self._goal()
        if late is not None and goal is not None:
            links.append(Link("reach", late, goal, name, misses=True))
        return links

    def _bridges(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for entry in self.reuse.entries:
            if entry.consumer is None:
                continue
            source, target = self.block_of.get(entry.node.id), self.block_of.get(entry.consumer.id)
            if source is None or target is None or source == target or (source, target) in found:
                continue
            if self.late.error != "inplace" or self.blocks[source].step != self.blocks[target].step:
                found.append((source, target))
        return found[:1]

    def _goal(self) -> int | None:
        """The block that the failing pass cannot get past."""
        entry, culprit = self.reuse.entry.node.id, self.reuse.culprit.id
        newer = self.late.error == "inplace" or entry not in self.stale
        for number in (culprit, entry) if newer else (entry, culprit):
            if number in self.block_of:
                return self.block_of[number]
        return None


_STATES = {
    "fresh": "in memory when the failing `backward()` began",
    "dead": "freed by an earlier `backward()`: its saved values are gone",
    "used": "used by an earlier `backward()`",
    "spoilt": "a value that it saved was overwritten",
}


def _slot_kind(event: Pass | Step | Write) -> str:
    return "pass" if isinstance(event, Pass) else "step"


def _call_name(text: str) -> str:
    """A name for a statement that gives its value none: what it calls, or what its pass is called on."""
    if ".backward(" in text:
        return text.split(".backward(")[0]
    plain = re.sub(r"^(return|yield|await)\b\s*", "", text)
    called = re.match(r"[\w.]+", plain)
    if called is not None and not called[0][:1].isdigit():
        return called[0]
    return "the result" if plain != text else text
