"""What the playground of the site asks for: a pasted text in, the page of what `check` finds in it out."""

from __future__ import annotations

import json

from afterward.model.diagnosis import Report
from afterward.model.saved import SavedRun
from afterward.render.html import as_html
from afterward.render.html_markdown import markdown_page
from afterward.render.wording import headline
from afterward.tasks.check_file import Shared, check_bytes
from afterward.tasks.explaining import message_in

FILE = "pasted.py"


def look(text: str) -> str:
    """The answer as JSON: its kind (`findings`, `clean`, `message`, `unreadable`), one line, and a page to show."""
    found = message_in(text)
    if found is not None:
        return _answer("message", f"PyTorch's message: {found.name}", markdown_page(found.shown))
    checked = check_bytes(FILE, text.encode("utf-8", "surrogatepass"), Shared(), alone=True)
    if checked.error is not None:
        return _answer("unreadable", checked.error)
    report = Report((FILE,), checked.findings, checked.gaps)
    run = SavedRun(report, checked.chapters, {FILE: text})
    if checked.findings:
        first, *more = checked.findings
        others = f" (and {len(more)} more)" if more else ""
        return _answer("findings", f"{first.code}: {headline(first)}{others}", as_html(run))
    looked = len(checked.looked.analysed)
    if not looked:
        return _answer("clean", "No call of backward() could be analysed here.")
    calls = f"{looked} call{'s' if looked > 1 else ''}"
    return _answer("clean", f"No problems found: {calls} of backward() analysed, nothing was run.")


def _answer(kind: str, summary: str, html: str = "") -> str:
    return json.dumps({"kind": kind, "summary": summary, "html": html})
