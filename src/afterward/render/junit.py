"""JUnit XML: one test case a finding, for build servers that count those."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from afterward.model.diagnosis import Diagnosis, Report
from afterward.render.paths import printable, shown
from afterward.render.text import as_text
from afterward.render.wording import headline


def as_junit(report: Report) -> str:
    count = len(report.findings)
    cases = "".join(_case(found) for found in report.findings) or '<testcase name="afterward" classname="afterward"/>\n'
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites><testsuite name="afterward" tests="{max(count, 1)}" failures="{count}">\n'
        f"{cases}</testsuite></testsuites>\n"
    )


def _case(found: Diagnosis) -> str:
    site = found.primary.site
    file = shown(site.file)
    name, kind = quoteattr(f"{found.code} {file}:{site.line}"), quoteattr(found.code)
    text = _printable(as_text(found))
    return (
        f"<testcase name={name} classname={quoteattr(file)} line={quoteattr(str(site.line))}>"
        f"<failure type={kind} message={quoteattr(headline(found))}>{escape(text)}</failure></testcase>\n"
    )


def _printable(text: str) -> str:
    """XML has no place for most control characters."""
    return "\n".join(printable(line) for line in text.split("\n"))
