"""Time, as the tape's clock has shown it: which lines of a training step took how long, and for what."""

from __future__ import annotations

from collections.abc import Sequence

from afterward.model.figures import duration, percent
from afterward.model.history import History
from afterward.model.timing import Timing
from afterward.render.html_table import bar_html, code_html, place_html, row_html, table_html
from afterward.render.source import SourceTexts
from afterward.render.template import counted

LINES, LEAST = 12, 0.005  # lines shown, and the share of the time from which on a line is
KINDS = {
    "forward": "forward: builds a graph",
    "backward": "backward",
    "update": "optimizer step",
    "else": "everything else",
}


def time_html(history: History, sources: SourceTexts) -> str:
    """The lines that ran again and again, the slowest first."""
    timings = sorted(history.timings, key=lambda one: -one.nanoseconds)
    whole = sum(one.nanoseconds for one in timings)
    if not whole or not any(one.passes for one in timings):
        return ""
    shown = [one for one in timings[:LINES] if one.nanoseconds >= LEAST * whole]
    rest = timings[len(shown) :]
    share = percent(sum(one.nanoseconds for one in rest), whole)
    more = f"<p><small>and {share} on {counted(len(rest), 'more line')}</small></p>" if rest else ""
    rows = (_row(one, shown[0].nanoseconds, whole, sources) for one in shown)
    return (
        '<section class="times" aria-label="Time"><h2>Time</h2><figure class="chart"><figcaption>'
        f"{_in_all(timings, whole)} <small>Measured at the beginning of the run, without the first time that a line "
        "ran; the median of each line counts. Work that a GPU finishes later counts for the line that waits for it."
        "</small></figcaption>"
        f'<p class="keys">{_keys(shown)}</p>{table_html(("line", "source", "each time", ""), rows)}{more}</figure>'
        "</section>"
    )


def parts_of(one: Timing) -> dict[str, int]:
    """What the time of a line was for: one that calls backward may also have built the loss."""
    kind = "backward" if one.passes else "update" if one.steps else "forward" if one.nodes else "else"
    parts = {"forward": min(one.forward, one.nanoseconds)} if one.forward else {}
    return {**parts, kind: one.nanoseconds - sum(parts.values())}


def _in_all(timings: Sequence[Timing], whole: int) -> str:
    shares = {kind: sum(parts_of(one).get(kind, 0) for one in timings) for kind in KINDS}
    said = [f"{words.split(':')[0]} {percent(shares[kind], whole)}" for kind, words in KINDS.items() if shares[kind]]
    return f"Where the time went: {', '.join(said)}."


def _keys(shown: Sequence[Timing]) -> str:
    found = {kind for one in shown for kind in parts_of(one)}
    return "".join(f'<span><i class="{kind}"></i>{words}</span>' for kind, words in KINDS.items() if kind in found)


def _row(one: Timing, most: int, whole: int, sources: SourceTexts) -> str:
    parts, share = parts_of(one), percent(one.nanoseconds, whole)
    label = f"{share} of the time: {' and '.join(KINDS[kind] for kind in parts)}"
    bar = bar_html(label, [(kind, nanoseconds / most) for kind, nanoseconds in parts.items()])
    also = f" <small>and the next item of line {one.fetches.line}</small>" if one.fetches is not None else ""
    place = one.site.file, one.site.line
    each = duration(one.nanoseconds / one.executions / 1e9)
    return row_html(place_html(*place), code_html(*place, sources) + also, each, f"{bar}<span>{share}</span>")
