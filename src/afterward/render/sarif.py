"""SARIF 2.1.0, which code scanning services read. Columns count from 1 there."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

import afterward
from afterward.model.diagnosis import Diagnosis, Report, Severity
from afterward.model.site import Site
from afterward.render.paths import in_json, relative
from afterward.render.wording import paragraph, said
from afterward.rules import words_of

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(report: Report) -> str:
    codes = {found.code: found for found in report.findings}
    run = {
        "tool": {
            "driver": {
                "name": "afterward",
                "version": afterward.__version__,
                "rules": [
                    {"id": code, "name": found.name, "shortDescription": {"text": words_of(code).fault}}
                    for code, found in sorted(codes.items())
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, sorted(codes).index(found.code)) for found in report.findings],
    }
    whole = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return in_json(json.dumps(whole, indent=1, ensure_ascii=False)) + "\n"


def _result(found: Diagnosis, index: int) -> dict[str, Any]:
    words = said(found)
    return {
        "ruleId": found.code,
        "ruleIndex": index,
        "level": _LEVELS[found.severity],
        "message": {"text": paragraph(found)},
        "locations": [{"physicalLocation": _place(found.primary.site)}],
        "relatedLocations": [
            {"id": number, "physicalLocation": _place(label.site), "message": {"text": label.text}}
            for number, label in enumerate(words.secondary, 1)
        ],
    }


def _place(site: Site) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": site.line, "startColumn": site.column + 1, "endLine": site.end_line}
    if site.end_column is not None:
        region["endColumn"] = site.end_column + 1
    return {"artifactLocation": {"uri": _uri(site.file)}, "region": region}


def _uri(file: str) -> str:
    """A relative reference: what is not plain in a name is percent-encoded."""
    return quote(os.fsencode(relative(file).replace(os.sep, "/")), safe="/:")
