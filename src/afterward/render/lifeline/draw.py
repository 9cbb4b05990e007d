"""Draws a story as SVG: time from left to right, a lane per holder of the graph, passes as upward strokes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from xml.sax.saxutils import quoteattr

from afterward.model.figures import human
from afterward.render.lifeline.story import Beat, Block, Column, Event, Story
from afterward.render.lifeline.ways import AXIS, BEAT, HALF, LABELS, LANE, Ways, pill_width, plain_text
from afterward.render.source import shortened, visible, without_ticks
from afterward.render.template import counted

WIDE = 1500


def as_svg(story: Story, *, name: str = "life", alone: bool = True) -> str:
    """The picture. `alone` brings its style and its words along: in a page those are the page's.

    `name` keeps the ids of several pictures apart.
    """
    return _Drawing(story, name, worded=alone).svg(alone)


def style() -> str:
    return resources.files("afterward.render").joinpath("assets/lifeline.css").read_text(encoding="utf-8")


class _Drawing(Ways):
    def svg(self, alone: bool) -> str:
        story = self.story
        label = quoteattr(visible(without_ticks(story.moral)))
        classes = "lifeline wide" if self.width > WIDE else "lifeline"  # a wide one keeps its size: the page scrolls
        size = f"{self.width:.0f} {self.height:.0f}"
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{classes}" viewBox="0 0 {size}"'
            f' role="group" aria-label={label} width="{self.width:.0f}" height="{self.height:.0f}"'
            f' data-ticks="{" ".join(f"{self.centre(slot):.0f}" for slot in range(story.slots))}"'
            f' data-top="{self.title + 8}" data-floor="{self.floor + 4}">'
        )
        parts = [head, f"<title>{plain_text(without_ticks(story.moral))}</title>"]
        if alone:
            parts.append(f"<style>{style()}</style>")
            parts.append('<rect class="ground" width="100%" height="100%"/>')
        parts.append(self._definitions())
        parts += [
            f'<text class="moral" x="30" y="{29 + 24 * n}">{_worded(line)}</text>' for n, line in enumerate(self.moral)
        ]
        bridges = [self._link(n, link) for n, link in enumerate(story.links) if link.kind == "bridge"]
        parts += self._columns()
        parts += self._lanes()
        parts += [self._link(n, link) for n, link in enumerate(story.links) if link.kind == "flow"]
        parts += [self._life(number, block) for number, block in enumerate(story.blocks)]
        parts += bridges
        parts += [self._event(number, event) for number, event in enumerate(story.events)]
        parts += [self._block(number, block) for number, block in enumerate(story.blocks)]
        parts += [self._link(n, link) for n, link in enumerate(story.links) if link.kind == "reach"]
        parts += self._fault()
        parts += self._pins()
        if alone:
            parts += self._beats()
            parts += self._legend()
        parts.append("</svg>\n")
        drawn = "\n".join(part for part in parts if part)
        return drawn.replace(' tabindex="0" role="button"', "") if alone else drawn  # a picture has no buttons

    def _definitions(self) -> str:
        ends = "".join(
            f'<marker id="{self.name}-{kind}" class="tip {kind}" viewBox="0 0 10 10" refX="8" refY="5" '
            f'markerUnits="userSpaceOnUse" markerWidth="{size}" markerHeight="{size}" orient="auto">'
            '<path d="M0 0L10 5L0 10z"/></marker>'
            for kind, size in (("flow", 9), ("bridge", 15), ("pass", 14), ("late", 14))
        )
        hatch = "".join(
            f'<pattern id="{self.name}-{kind}" class="hatch {kind}" width="7" height="7" '
            f'patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            f'<rect width="7" height="7"/><path d="M0 0V7"/></pattern>'
            for kind in ("dead", "spoilt")
        )
        return f"<defs>{ends}{hatch}</defs>"

    def _columns(self) -> Iterator[str]:
        for column, (left, right) in zip(self.story.columns, self.borders, strict=True):
            classes = f"column {column.kind}" + (" fails" if column.fails and column.kind != "only" else "")
            middle = (left + right) / 2
            title = self._column_title(column)
            yield (
                f'<g class="{classes}"><rect x="{left + 3:.1f}" y="{self.title + 8}" width="{right - left - 6:.1f}" '
                f'height="{self.floor - self.title + AXIS - 14:.1f}" rx="10"/>'
                f"{self._said(title, middle, left + 16, self.title + 29)}</g>"
            )

    @staticmethod
    def _column_title(column: Column) -> str:
        return column.title + (" · fails here" if column.fails and column.title else "")

    def _lanes(self) -> Iterator[str]:
        for number, lane in enumerate(self.story.lanes):
            y = self.level(number)
            where = f"line {lane.line}" if lane.line is not None else ""
            detail = shortened(lane.detail, 24)
            full = plain_text(": ".join(part for part in (where, lane.detail) if part))
            yield (
                f'<g class="lane {lane.role}"><title>{full}</title>'
                f'<path class="rail" d="M{LABELS} {y:.1f}H{self.borders[-1][1] if self.borders else LABELS:.1f}"/>'
                f'<text class="name" x="{LABELS - 14}" y="{y - 9:.1f}">{plain_text(shortened(lane.name, 20))}</text>'
                f'<text class="where" x="{LABELS - 14}" y="{y + 7:.1f}">{plain_text(where)}</text>'
                f'<text class="code" x="{LABELS - 14}" y="{y + 22:.1f}">{plain_text(detail)}</text>'
                f"{'' if self.worded else self._name_under(number, lane.name, where)}</g>"
            )

    def _name_under(self, number: int, name: str, where: str) -> str:
        """A lane's name once more, for a page that has no room beside the picture: up to what would stand in it."""
        left = LABELS + 12
        last = len(self.story.lanes) - 1  # under it stand the feet of all passes
        strokes = (event for event in self.story.events if not event.muted)
        stops = [self.centre(event.slot) - 8 for event in strokes if min(event.lanes, default=last) <= number]
        for n, link in enumerate(self.story.links):
            x, y = self.pins.get(("bridge", n), (0.0, 0.0))
            if link.name and 0 < y - self.level(number) < LANE:
                stops.append(x - pill_width(link.name) / 2 - 26)
        room = int((min((stop for stop in stops if stop > left), default=self.width) - left) / 7.6)
        line = f'<tspan class="where"> {plain_text(where)}</tspan>' if len(f"{name} {where}") <= room else ""
        shown = plain_text(shortened(name, max(min(room, 24), 6)))
        return f'<text class="under" x="{left}" y="{self.level(number) + HALF + 13:.1f}">{shown}{line}</text>'

    def _life(self, number: int, block: Block) -> str:
        """The bar of a block: how long it lived, and how long it could still be reached."""
        if block.ends is None:
            return ""
        y = self.level(block.lane)
        _, start = self.box(block)
        end = self.centre(block.ends)
        shown = [f'<g class="life {block.state}" data-block="{number}" data-slot="{block.slot}">']
        if end > start:
            shown.append(f'<rect x="{start - 4:.1f}" y="{y - 4:.1f}" width="{end - start + 4:.1f}" height="8" rx="4"/>')
        if block.lingers is not None and block.lingers > block.ends:
            until = self.centre(block.lingers)
            shown.append(f'<path class="linger" data-slot="{block.ends}" d="M{end:.1f} {y:.1f}H{until:.1f}"/>')
        return "".join(shown) + "</g>"

    def _block(self, number: int, block: Block) -> str:
        y = self.level(block.lane)
        left, right = self.box(block)
        self.pins["block", number] = (left, y - HALF)
        lane = self.story.lanes[block.lane]
        words = without_ticks("; ".join((f"{lane.name}{', ' + block.step if block.step else ''}", *block.facts)))
        first = block.label or (counted(block.count, "node") if block.count else "")
        crowded = block.state in ("spoilt", "unused")
        second = plain_text(human(block.bytes)) if block.bytes and not crowded else ""
        if block.state in _FATES and first:
            second += f'<tspan class="fate">{" " if second else ""}{_FATES[block.state]}</tspan>'
        middle = (left + right) / 2
        fill = f' fill="url(#{self.name}-{block.state})"' if block.state in ("dead", "spoilt") else ""
        dies = f' data-dies="{block.ends}"' if block.state in ("dead", "spoilt") and block.ends is not None else ""
        lines = f'<text x="{middle:.1f}" y="{y + (4.5 if not second else -2.5):.1f}">{plain_text(first)}</text>'
        if second:
            lines += f'<text class="bytes" x="{middle:.1f}" y="{y + 12:.1f}">{second}</text>'
        return (
            f'<g class="block {block.state}" data-block="{number}" data-slot="{block.slot}"{dies} tabindex="0" '
            f'role="button" aria-label={quoteattr(visible(words))}><title>{plain_text(words)}</title>'
            f'<rect class="body" x="{left:.1f}" y="{y - HALF}" width="{right - left:.1f}" height="{2 * HALF}" '
            f'rx="8"{fill}/>{lines}</g>'
        )

    def _event(self, number: int, event: Event) -> str:
        x = self.centre(event.slot)
        axis = self.floor + 4
        words = without_ticks("; ".join((event.title + (f", line {event.line}" if event.line else ""), *event.facts)))
        classes = f"event {event.kind}" + (" muted" if event.muted else "") + ("" if event.frees else " retains")
        shown = [
            f'<g class="{classes}" data-event="{number}" data-slot="{event.slot}" tabindex="0" role="button" '
            f"aria-label={quoteattr(visible(words))}><title>{plain_text(words)}</title>"
        ]
        top = self._event_top(number, event)
        reaches = any(link.kind == "reach" and link.source == number for link in self.story.links)
        tip = f' marker-end="url(#{self.name}-{"late" if event.kind == "late" else "pass"})"' if not reaches else ""
        if event.kind in ("pass", "late") and not event.muted and (event.lanes or reaches):
            shown.append(f'<path class="stroke"{tip} d="M{x:.1f} {axis}V{top:.1f}"/>')
            shown += [f'<circle cx="{x:.1f}" cy="{self.level(lane):.1f}" r="5.5"/>' for lane in event.lanes]
        elif event.kind == "write":
            shown.append(f'<path class="stroke" d="M{x:.1f} {axis}V{top:.1f}"/>')
        elif event.kind == "cut":
            y = self.level(event.lanes[0])
            shown.append(f'<path class="stroke" d="M{x:.1f} {axis}V{y + 16:.1f}"/>')
            shown.append(f'<path class="blades" d="M{x - 7:.1f} {y - 15:.1f}L{x + 5:.1f} {y + 9:.1f}')
            shown.append(f'M{x + 7:.1f} {y - 15:.1f}L{x - 5:.1f} {y + 9:.1f}"/>')
            shown += [f'<circle class="grip" cx="{x + side * 7:.1f}" cy="{y + 13:.1f}" r="4.5"/>' for side in (-1, 1)]
        shown.append(f'<circle class="foot" cx="{x:.1f}" cy="{axis}" r="{5 if not event.muted else 3.5}"/>')
        title = plain_text(shortened(event.title, int(self.wide[event.slot] / 7.2)))
        shown.append(f'<text class="what" x="{x:.1f}" y="{axis + 20}">{title}</text>')
        where = f"line {event.line}" if event.line is not None else ""
        deed = f'<tspan class="deed">{" · " if where else ""}{event.deed}</tspan>' if event.deed else ""
        shown.append(f'<text class="where" x="{x:.1f}" y="{axis + 34}">{where}{deed}</text></g>')
        self.pins["event", number] = (x - 16, axis - 4)
        return "".join(shown)

    def _event_top(self, number: int, event: Event) -> float:
        reach = next((link for link in self.story.links if link.kind == "reach" and link.source == number), None)
        if reach is not None:
            return self._reach_start(event, reach)
        lanes = event.lanes or (range(len(self.story.lanes)) if event.kind == "cut" else ())
        if event.kind == "write":
            written = [n for n, lane in enumerate(self.story.lanes) if lane.role == "written"]
            return self.level(written[0]) + HALF if written else self.floor - LANE / 2
        return self.level(min(lanes)) - HALF - 5 if lanes else self.floor

    # Words

    def _fault(self) -> Iterator[str]:
        """Over the lanes, from the first step to the last."""
        if self.story.fault:
            left, right = self.borders[0][0], self.borders[-1][1]
            yield self._said(self.story.fault, (left + right) / 2, left + 16, self.top - 6, "fault")

    def _pins(self) -> Iterator[str]:
        for number, beat in enumerate(self.story.beats, 1):
            place = self._pin(beat)
            if place is not None:
                yield _numbered(number, *place, beat.tone, self._slot_of(beat))

    def _pin(self, beat: Beat) -> tuple[float, float] | None:
        if beat.tone == "bridge":
            found = [(n, link) for n, link in enumerate(self.story.links) if link.kind == "bridge"]
            if found and ("bridge", found[0][0]) in self.pins:
                x, y = self.pins["bridge", found[0][0]]
                return x - pill_width(found[0][1].name) / 2 - 12, y
        if beat.block is not None:
            return self.pins.get(("block", beat.block))
        return self.pins.get(("event", beat.event)) if beat.event is not None else None

    def _slot_of(self, beat: Beat) -> int | None:
        if beat.block is not None:
            return self.story.blocks[beat.block].slot
        return self.story.events[beat.event].slot if beat.event is not None else None

    def _beats(self) -> Iterator[str]:
        y = self.floor + AXIS + 24.0
        for number, (beat, lines) in enumerate(self.beats, 1):
            yield f'<g class="beat" data-beat="{number}">{_numbered(number, 40, y - 4.5, beat.tone)}'
            for line in lines:
                yield f'<text x="62" y="{y:.1f}">{_worded(line)}</text>'
                y += BEAT
            yield "</g>"

    def _legend(self) -> Iterator[str]:
        x, y = 30.0, self.height - 36
        yield '<g class="legend">'
        for state, words in legend_of(self.story):
            fill = f' fill="url(#{self.name}-{state})"' if state in ("dead", "spoilt") else ""
            if x + 27 + len(words) * 6.6 > self.width - 20:
                x, y = 30.0, y + 20
            if state in _LINES:
                yield f'<path class="sample {state}" d="M{x:.1f} {y - 4:.1f}h20"/>'
            else:
                yield f'<g class="block {state}"><rect class="body" x="{x:.1f}" y="{y - 11:.1f}" width="20" height="14"'
                yield f' rx="4"{fill}/></g>'
            yield f'<text x="{x + 27}" y="{y}">{words}</text>'
            x += 27 + len(words) * 6.6 + 22
        yield "</g>"


def legend_of(story: Story) -> list[tuple[str, str]]:
    """What a picture shows, and what each means: blocks by their state, connections, events."""
    seen = {block.state for block in story.blocks} | {link.kind for link in story.links}
    seen |= {"keeps" if event.kind == "pass" and not event.frees else event.kind for event in story.events}
    seen |= {"fresh" for block in story.blocks if block.ends is not None and block.state in ("dead", "done")}
    words = _LEGEND if any(link.kind == "reach" for link in story.links) else {**_LEGEND, "bridge": "the same value"}
    return [(state, said) for state, said in words.items() if state in seen]


_FATES = {"dead": "freed", "spoilt": "overwritten", "unused": "never used"}

_LEGEND = {
    "fresh": "in memory",
    "dead": "freed by an earlier backward",
    "done": "used and freed, as it should be",
    "used": "used by an earlier backward",
    "spoilt": "what it saved was overwritten",
    "kept": "kept in memory unnecessarily",
    "unused": "never used",
    "ghost": "missing",
    "grad": "gradients of one step",
    "piled": "gradients that count again",
    "value": "its saved values",
    "main": "where the fault shows",
    "bridge": "link to the old graph",
    "pass": "a backward that works",
    "keeps": "a backward that keeps its graph",
    "write": "overwrites values",
    "cut": "drops the graph",
    "late": "the backward at fault",
}
_LINES = ("bridge", "pass", "keeps", "write", "cut", "late")  # drawn as strokes, not as boxes


def _numbered(number: int, x: float, y: float, tone: str, slot: int | None = None) -> str:
    at = f' data-at="{slot}"' if slot is not None else ""
    return (
        f'<g class="number {tone}" data-beat="{number}"{at}><circle cx="{x:.1f}" cy="{y:.1f}" r="10.5"/>'
        f'<text x="{x:.1f}" y="{y + 4.3:.1f}">{number}</text></g>'
    )


def _worded(text: str) -> str:
    """Words with the program's own names set as code."""
    parts = plain_text(text).split("`")
    return "".join(f'<tspan class="word">{part}</tspan>' if n % 2 else part for n, part in enumerate(parts))
