"""One line a finding, as compilers and editors like it."""

from __future__ import annotations

from afterward.model.diagnosis import Report
from afterward.render.paths import shown
from afterward.render.wording import located


def as_concise(report: Report) -> str:
    lines = []
    for found in report.findings:
        site = found.primary.site
        name = f" [{found.name}]" if found.name else ""
        lines.append(f"{shown(site.file)}:{site.line}:{site.column + 1}: {found.code} {located(found)}{name}\n")
    return "".join(lines)
