"""A page of the documentation as a small page of its own: the few forms of Markdown that our pages are written in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape as text

STYLE = (
    ":root{color-scheme:light dark}h1{font-size:1.3rem}h2{font-size:1.05rem}"
    "body{font:15px/1.55 system-ui,sans-serif;max-width:46rem;margin:1rem auto;padding:0 1rem}"
    "code,pre{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}"
    "pre{padding:.7rem;overflow-x:auto;background:color-mix(in srgb,currentColor 7%,transparent);border-radius:6px}"
)
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\([^)]*\)")


def markdown_page(markdown: str) -> str:
    return f'<!DOCTYPE html><meta charset="utf-8"><style>{STYLE}</style><body>{"".join(_blocks(markdown))}'


def _blocks(markdown: str) -> Iterator[str]:
    """Between fences code, elsewhere headings, lists and paragraphs, which an empty line parts."""
    for number, piece in enumerate(re.split(r"^```.*\n", markdown, flags=re.MULTILINE)):
        if number % 2:
            yield f"<pre>{text(piece)}</pre>"
            continue
        for block in re.split(r"\n\s*\n", piece.strip()):
            yield from _block(block)


def _block(block: str) -> Iterator[str]:
    heading = re.match(r"(#+) (.*)", block)
    if heading is not None:
        level, rest = len(heading[1]), block[heading.end() :].strip()
        yield f"<h{level}>{_inline(heading[2])}</h{level}>"
        if rest:
            yield from _block(rest)
    elif block.startswith("- "):
        items = "".join(f"<li>{_inline(item)}</li>" for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:])
        yield f"<ul>{items}</ul>"
    elif block.startswith("> "):
        quoted = re.sub(r"^> ?", "", block, flags=re.MULTILINE)
        yield f"<blockquote><code>{text(quoted)}</code></blockquote>"
    elif block:
        yield f"<p>{_inline(block)}</p>"


def _inline(words: str) -> str:
    """Code and bold; of a link its words, for it leads to another page of the site."""
    made, end = "", 0
    for found in _INLINE.finditer(words):
        code, bold, link = found.groups()
        inner = f"<code>{text(code)}</code>" if code else f"<b>{text(bold)}</b>" if bold else _inline(link)
        made, end = made + text(words[end : found.start()]) + inner, found.end()
    return made + text(words[end:])
