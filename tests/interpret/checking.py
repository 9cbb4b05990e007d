"""Interprets a piece of source, as `afterward check` would a file, and says what the rules make of it."""

from __future__ import annotations

from pathlib import Path

from afterward.interpret import Sources, interpret_file, parse
from afterward.model.diagnosis import Diagnosis
from afterward.rules import diagnose
from afterward.tasks.check_silent import silent_findings


def check_source(source: str, folder: Path, name: str = "program.py") -> list[Diagnosis]:
    file = str(folder / name)
    data = source.encode()
    (folder / name).write_bytes(data)
    tree = parse(data, file)
    sources = Sources()
    sources.add(file, data, tree)
    outcome = interpret_file(file, tree, sources)
    loud = [found for each in outcome.findings for found in diagnose(each.history)]
    return [*loud, *(found for part in outcome.parts for found in silent_findings(part))]
