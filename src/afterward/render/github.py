"""Annotations for GitHub Actions: they show up on the lines of a pull request."""

from __future__ import annotations

from afterward.model.diagnosis import Diagnosis, Report, Severity
from afterward.render.paths import shown
from afterward.render.wording import paragraph

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_github(report: Report) -> str:
    return "".join(_annotation(found) + "\n" for found in report.findings)


def _annotation(found: Diagnosis) -> str:
    site = found.primary.site
    where = f"file={_value(shown(site.file))},line={site.line},endLine={site.end_line},col={site.column + 1}"
    title = _value(f"{found.code} {found.name}")
    return f"::{_LEVELS[found.severity]} {where},title={title}::{_data(paragraph(found))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
