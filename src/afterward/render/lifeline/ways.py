"""Where things lie in a life line, and the ways between them: flows, the bridge, and the reach into the past."""

from __future__ import annotations

import itertools
import textwrap
from xml.sax.saxutils import escape

from afterward.render.lifeline.story import Block, Event, Link, Story
from afterward.render.source import visible
from afterward.render.template import capital

LABELS, MARGIN = 196, 26  # room for the lanes' names, and at the right edge
WIDTHS = {"block": 108, "pass": 124, "step": 118, "gap": 104}
LEAST = 720  # the tracks are at least so wide
TITLE, HEADER, HEADROOM, LANE, AXIS, BEAT = 16, 40, 34, 70, 58, 27
HALF = 19  # half the height of a block
MOST, CLOSE, DENSE = (
    900,
    56,
    0.88,
)  # the tracks are drawn closer beyond that: blocks of other lanes at least so far on, then all
PAD = 18  # free room at both ends of a column
TEXT, CODE = 7.1, 7.3  # the width of a letter of a beat, and of a call, about


class Ways:
    """The measure of a picture. `draw._Drawing` fills it in."""

    def __init__(self, story: Story, name: str, *, worded: bool = True) -> None:
        """`worded`: the moral, the beats and the legend are part of the picture; a page sets them as its own text."""
        self.story, self.name, self.worded = story, name, worded
        self.left: list[float] = []
        self.wide: list[float] = []
        self.borders: list[tuple[float, float]] = []
        self._place_slots()
        lanes = max(len(story.lanes), 1)
        self.moral = wrapped(capital(story.moral), int((self.width - 60) / 9.3)) if worded else []
        self.title = TITLE + 24 * len(self.moral) if worded else 0
        self.crests = [n for n, link in enumerate(story.links) if link.kind == "reach"]
        self.top = self.title + HEADER + HEADROOM + 9 * max(len(self.crests) - 1, 0)
        self.floor = self.top + lanes * LANE
        self.beats = [(beat, wrapped(beat.text, int((self.width - 90) / TEXT))) for beat in story.beats]
        rows = sum(len(lines) for _, lines in self.beats)
        self.height = self.floor + AXIS + (22 + rows * BEAT + 54 if worded else 0)
        self.pins: dict[tuple[str, int], tuple[float, float]] = {}

    def _place_slots(self) -> None:
        kinds, columns = self.story.kinds, self.story.columns
        padding = 2 * PAD * len(columns)
        wanted = sum(WIDTHS[kind] for kind in kinds) + padding
        scale = max((LEAST - padding) / max(wanted - padding, 1), 1.0)
        # A block may overlap the next in time, for that one stands in another lane: a crowded picture is drawn closer.
        loose = [slot for slot in range(len(kinds)) if self._stands_free(slot)]
        spared = min(max(wanted - MOST, 0) / max(len(loose), 1), WIDTHS["block"] - CLOSE)
        left_over = wanted - spared * len(loose)
        if left_over > MOST:
            scale = max((MOST - padding) / max(left_over - padding, 1), DENSE)
        letters = {event.slot: len(event.title) + 1 for event in self.story.events if not event.muted}
        x = float(LABELS)
        for column in columns:
            start = x
            x += PAD
            for slot in range(column.first, column.last + 1):
                width = max(WIDTHS[kinds[slot]] * scale, letters.get(slot, 0) * CODE)
                self.left.append(x)
                self.wide.append(width)
                x += width - (spared if slot in loose else 0)
            x += PAD
            self.borders.append((start, x))
        self.width = max(x, LABELS + LEAST) + MARGIN

    def _stands_free(self, slot: int) -> bool:
        """Does the next slot of the column hold a block of another lane?"""
        lanes = {block.slot: block.lane for block in self.story.blocks if block.state not in ("value", "changed")}
        ends = {column.last for column in self.story.columns}
        return slot not in ends and slot in lanes and slot + 1 in lanes and lanes[slot] != lanes[slot + 1]

    # Places

    def centre(self, slot: int) -> float:
        return self.left[slot] + self.wide[slot] / 2

    def level(self, lane: int) -> float:
        return self.top + lane * LANE + LANE / 2

    def box(self, block: Block) -> tuple[float, float]:
        """The left and the right edge of a block."""
        half = min(self.wide[block.slot] - 14, 112) / 2
        if block.state in ("value", "changed"):
            half = 36
        return self.centre(block.slot) - half, self.centre(block.slot) + half

    def _reach_start(self, event: Event, reach: Link) -> float:
        """Where the failing pass leaves its own part: at the lane of what it came through."""
        through = next((link.target for link in self.story.links if link.kind == "bridge"), None)
        if through is not None:
            return self.level(self.story.blocks[through].lane) + 8
        return self.level(self.story.blocks[reach.target].lane) + 8

    # Ways

    def _link(self, number: int, link: Link) -> str:
        if link.kind == "reach":
            return self._reach(number, link)
        source, target = self.story.blocks[link.source], self.story.blocks[link.target]
        _, start = self.box(source)
        end, _ = self.box(target)
        y0, y1 = self.level(source.lane), self.level(target.lane)
        slot = max(source.slot, target.slot)
        if link.kind == "flow":
            if target.slot < source.slot or (target.slot - source.slot > 6 and source.lane == target.lane):
                return ""  # a block holds all iterations of an inner loop: a line back in time is between two of those
            path = self._flow_path(start, y0, end, y1)
            return f'<path class="flow" data-slot="{slot}" marker-end="url(#{self.name}-flow)" d="{path}"/>'
        freed = self.centre(source.ends) + 12 if source.ends is not None else start
        if start < freed and end - freed > pill_width(link.name) + 40:
            start = freed  # until then it lived; from there on only the name holds it
        path, middle = self._rope(source, target, start, end, pill_width(link.name))
        pill = self._pill(*middle, link.name) if link.name else ""
        self.pins["bridge", number] = middle
        return (
            f'<g class="bridge" data-slot="{slot}"><path class="rope" marker-end="url(#{self.name}-bridge)" '
            f'd="{path}"/>{pill}</g>'
        )

    def _rope(
        self, source: Block, target: Block, start: float, end: float, name: float
    ) -> tuple[str, tuple[float, float]]:
        """The way of the bridge, and the place for its name: along the lane, and past whatever stands there."""
        y0, y1 = self.level(source.lane), self.level(target.lane)
        if y0 == y1:
            x, room = self._widest(start, end)
            tight = room < name + 30  # no room for the name and its number on the lane itself
            place = (x + 14, y0 + HALF + 14) if tight else (x, y0)  # below, and off the foot of the pass on its left
            return f"M{start:.1f} {y0:.1f}H{end - 5:.1f}", place
        if end - start < 150:
            path = f"M{start:.1f} {y0:.1f}" + curve(start, y0, end - 5, y1)
            return path, ((start + end) / 2, (y0 + y1) / 2)
        standing = [b for b in self.story.blocks if b.lane == source.lane and source.slot < b.slot < target.slot]
        bend = min([self.box(b)[0] - 14 for b in standing] + [end - 84])
        path = f"M{start:.1f} {y0:.1f}H{bend:.1f}"
        if bend < end - 84 and bend > start + 20:
            between = y0 + (LANE / 2 if y1 > y0 else -LANE / 2)
            path += f"C{bend + 12:.1f} {y0:.1f} {bend:.1f} {between:.1f} {bend + 22:.1f} {between:.1f}H{end - 56:.1f}"
            path += curve(end - 56, between, end - 5, y1)
        else:
            bend = max(bend, start)
            path = f"M{start:.1f} {y0:.1f}H{bend:.1f}" + curve(bend, y0, end - 5, y1)
        x, room = self._widest(start, bend + 24)
        crossed = room < name + 36  # beside its number, a pass would stand in the name: it goes on the bend
        return path, ((bend + end) / 2 + 20, (y0 + y1) / 2) if crossed else (x, y0)

    def _widest(self, start: float, end: float) -> tuple[float, float]:
        """The middle and the width of the widest stretch that no pass crosses."""
        crossing = (self.centre(e.slot) for e in self.story.events if e.kind in ("pass", "late") and not e.muted)
        stops = sorted({start, end, *(x for x in crossing if start < x < end)})
        left, right = max(itertools.pairwise(stops), key=lambda pair: pair[1] - pair[0], default=(start, end))
        return (left + right) / 2 + 11, right - left  # the number of the beat stands on its left

    @staticmethod
    def _flow_path(start: float, y0: float, end: float, y1: float) -> str:
        if y0 == y1:
            return f"M{start:.1f} {y0:.1f}H{end - 2:.1f}"
        edge = y0 + (HALF if y1 > y0 else -HALF)
        x = min(start - 16, end - 22)
        return f"M{x:.1f} {edge:.1f}C{x:.1f} {y1:.1f} {x + 4:.1f} {y1:.1f} {end - 2:.1f} {y1:.1f}"

    def _pill(self, x: float, y: float, name: str) -> str:
        shown = ending(name)
        width = pill_width(name)
        return (
            f'<g class="pill"><rect x="{x - width / 2:.1f}" y="{y - 12:.1f}" width="{width:.1f}" height="24" rx="12"/>'
            f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{plain_text(shown)}</text></g>'
        )

    def _reach(self, number: int, link: Link) -> str:
        """The failing pass goes back in time, over the heads of what was built since, into what is gone."""
        event, goal = self.story.events[link.source], self.story.blocks[link.target]
        x, y = self.centre(event.slot), self._reach_start(event, link) - 8
        _, right = self.box(goal)
        end, roof = right - 10, self.level(goal.lane) - HALF
        above = min(y - HALF + 8, roof)
        crest = above - (34 if above < self.top + LANE / 2 else 17) - 9 * self.crests.index(number)
        path = (
            f"M{x:.1f} {y + 8:.1f}C{x:.1f} {crest:.1f} {x - 10:.1f} {crest:.1f} {x - 46:.1f} {crest:.1f}"
            f"H{end + 46:.1f}C{end + 8:.1f} {crest:.1f} {end:.1f} {crest + 6:.1f} {end:.1f} {roof - 9:.1f}"
            if x - end > 110
            else f"M{x:.1f} {y + 8:.1f}C{x:.1f} {crest:.1f} {end:.1f} {crest:.1f} {end:.1f} {roof - 9:.1f}"
        )
        cross = ""
        if link.misses:
            cross = (
                f'<g class="miss"><circle cx="{end:.1f}" cy="{roof - 8:.1f}" r="11"/>'
                f'<path d="M{end - 4.5:.1f} {roof - 12.5:.1f}l9 9m0 -9l-9 9"/></g>'
            )
        says = number == self.crests[0] if link.misses else event.kind == "late"
        words = _NEEDS.get(goal.state, "") if says else ""
        if words and x - end > 110 + 6.6 * len(words):
            cross += self._said(words, (x + end) / 2, end + 24, crest - 7)
        classes = "reach" if link.misses or event.kind == "late" else "reach mild"
        return f'<g class="{classes}" data-slot="{event.slot}"><path class="stroke" d="{path}"/>{cross}</g>'

    def _said(self, words: str, middle: float, left: float, y: float, kind: str = "") -> str:
        """Words over the picture: in the middle, and on a phone, which shows its beginning alone, at the left."""
        places = (("", middle),) if self.worded else (("far", middle), ("near", left))
        names = ((" ".join(name for name in (kind, side) if name), x) for side, x in places)
        return "".join(f'<text{_class(name)} x="{x:.1f}" y="{y:.1f}">{plain_text(words)}</text>' for name, x in names)


_NEEDS = {
    "dead": "needs what was freed",
    "spoilt": "needs what was overwritten",
    "kept": "goes through all earlier graphs again",
    "ghost": "no graph to go through",
}


def ending(name: str, room: int = 19) -> str:
    """A long dotted name by its end, which says more than its beginning."""
    return name if len(name) <= room else "…" + name[1 - room :]


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def pill_width(name: str) -> float:
    return len(ending(name)) * 7.6 + 20


def curve(x0: float, y0: float, x1: float, y1: float) -> str:
    bend = max((x1 - x0) / 2, 24)
    return f"C{x0 + bend:.1f} {y0:.1f} {x1 - bend:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"


def plain_text(text: str) -> str:
    return escape(visible(text))


def wrapped(text: str, room: int) -> list[str]:
    return textwrap.wrap(text, max(room, 30)) or [""]
