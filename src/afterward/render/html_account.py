"""The account of `run --memory` as part of the page: measured bytes, line by line, at the peak."""

from __future__ import annotations

from afterward.model.figures import human
from afterward.model.memory import LineBytes, Memory, PassBytes
from afterward.render.html_memory import place_html
from afterward.render.html_source import text
from afterward.render.paths import shown
from afterward.render.source import SourceTexts, counted, shortened

LINES = 20


def account_html(memory: Memory | None, sources: SourceTexts) -> str:
    if memory is None or not memory.bytes:
        return ""
    when = ""
    if memory.site is not None:
        when = f" when call {memory.step} of {shown(memory.site.file)}:{memory.site.line} started"
    rows = "".join(_line(row, memory, sources) for row in memory.lines[:LINES])
    rest = memory.lines[LINES:]
    rows += _sum(f"{len(rest):,} more lines", sum(row.bytes for row in rest)) if rest else ""
    rows += _sum("no line of yours", memory.unplaced) if memory.unplaced else ""
    passes = "".join(_passes(one) for one in memory.passes)
    return (
        '<article class="account" aria-label="Memory, measured"><h2>Memory, measured '
        f"<small>{human(memory.bytes)} of saved values at the peak{text(when)}</small></h2>"
        '<figure class="chart"><table class="by-line"><thead><tr><th scope="col">line</th><th scope="col">source</th>'
        f'<th scope="col">saved</th><th scope="col"></th></tr></thead><tbody>{rows}</tbody></table></figure>'
        f"{_remarks(memory)}<h2>Calls of backward</h2>"
        '<figure class="chart"><table class="by-line"><thead><tr><th scope="col">line</th><th scope="col">calls</th>'
        '<th scope="col">largest graph</th><th scope="col">kept</th></tr></thead>'
        f"<tbody>{passes}</tbody></table></figure></article>"
    )


def _line(row: LineBytes, memory: Memory, sources: SourceTexts) -> str:
    code = shortened(sources.line(row.site.file, row.site.line).strip(), 70)
    share = 200 * row.bytes / memory.bytes
    anyway = 200 * row.held_anyway / memory.bytes
    bar = (
        '<svg class="bar" viewBox="0 0 200 12" preserveAspectRatio="xMinYMid" role="img" '
        f'aria-label="{100 * row.bytes / memory.bytes:.0f} percent">'
        f'<rect class="alive" width="{share:.1f}" height="12"/>'
        f'<rect class="freed" width="{anyway:.1f}" height="12"/></svg>'
    )
    place = place_html(row.site.file, row.site.line)
    return f"<tr><td>{place}</td><td><code>{text(code)}</code></td><td>{human(row.bytes)}</td><td>{bar}</td></tr>"


def _sum(words: str, size: int) -> str:
    return f"<tr><td></td><td>{text(words)}</td><td>{human(size)}</td><td></td></tr>"


def _passes(one: PassBytes) -> str:
    call = "autograd.grad" if one.call == "grad" else "backward"
    kept = f"{human(one.kept)} by {one.retaining:,} of them" if one.retaining else "nothing"
    place = place_html(one.site.file, one.site.line)
    return f"<tr><td>{place}</td><td>{one.passes:,} × {call}</td><td>{human(one.most)}</td><td>{kept}</td></tr>"


def _remarks(memory: Memory) -> str:
    anyway = sum(row.held_anyway for row in memory.lines)
    said = []
    if anyway:
        said.append(
            f"{human(anyway)} (grey) are in tensors that a variable also holds: they stay when the graph is freed."
        )
    if memory.other:
        said.append(f"{human(memory.other)} belong to other graphs that were in memory then.")
    if memory.parameters:
        said.append(f"{human(memory.parameters)} of parameters are saved too; they are in memory anyway.")
    if memory.packed:
        said.append(f"{counted(memory.packed, 'saved value')} are kept by hooks and not counted.")
    if memory.not_counted:
        said.append(f"{memory.not_counted:,} passes had graphs too large to be counted.")
    if memory.allocator is not None:
        found = memory.allocator
        grown = human(max(found.at_pass - found.before, 0))
        said.append(f"The allocator of {text(found.device)} gave out {grown} in that forward pass.")
    return "".join(f"<p>{sentence}</p>" for sentence in said)
