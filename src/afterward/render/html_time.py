"""Time, as the tape's clock has shown it: which lines of a training step took how long, and for what."""

from __future__ import annotations

from collections.abc import Sequence

from afterward.model.figures import duration
from afterward.model.history import History
from afterward.model.timing import Timing
from afterward.render.html_memory import place_html
from afterward.render.html_source import text
from afterward.render.source import SourceTexts, counted, shortened

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
    share = 100 * sum(one.nanoseconds for one in rest) / whole
    more = f"<p><small>and {share:.0f} % on {counted(len(rest), 'more line')}</small></p>" if rest else ""
    rows = "".join(_row(one, shown[0].nanoseconds, whole, sources) for one in shown)
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("line", "source", "each time", ""))
    return (
        '<section class="times" aria-label="Time"><h2>Time</h2><figure class="chart"><figcaption>'
        f"{_in_all(timings, whole)} <small>Measured at the beginning of the run, without the first time that a line "
        "ran. Work that a GPU finishes later counts for the line that waits for it.</small></figcaption>"
        f'<p class="keys">{_keys(shown)}</p><table class="by-line"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}</figure></section>"
    )


def kind_of(one: Timing) -> str:
    """What most of the time of a line was for: a line that calls backward may also build the loss."""
    return "backward" if one.passes else "update" if one.steps else "forward" if one.nodes else "else"


def _in_all(timings: Sequence[Timing], whole: int) -> str:
    shares = {kind: sum(one.nanoseconds for one in timings if kind_of(one) == kind) for kind in KINDS}
    said = [f"{words.split(':')[0]} {100 * shares[kind] / whole:.0f} %" for kind, words in KINDS.items()]
    return f"Where the time went: {', '.join(said)}."


def _keys(shown: Sequence[Timing]) -> str:
    found = {kind_of(one) for one in shown}
    return "".join(f'<span><i class="{kind}"></i>{words}</span>' for kind, words in KINDS.items() if kind in found)


def _row(one: Timing, most: int, whole: int, sources: SourceTexts) -> str:
    kind = kind_of(one)
    share = f"{100 * one.nanoseconds / whole:.0f} %"
    bar = (
        f'<svg class="bar" viewBox="0 0 200 12" preserveAspectRatio="xMinYMid" role="img" '
        f'aria-label="{share} of the time, {KINDS[kind]}">'
        f'<rect class="{kind}" width="{200 * one.nanoseconds / most:.1f}" height="12"/></svg>'
    )
    code = shortened(sources.line(one.site.file, one.site.line).strip(), 70)
    also = f" <small>and the next item of line {one.fetches.line}</small>" if one.fetches is not None else ""
    each = duration(one.nanoseconds / one.executions / 1e9)
    return (
        f"<tr><td>{place_html(one.site.file, one.site.line)}</td><td><code>{text(code)}</code>{also}</td>"
        f"<td>{each}</td><td>{bar}<span>{share}</span></td></tr>"
    )
