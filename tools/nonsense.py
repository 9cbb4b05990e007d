"""Replaces every sentence by nonsense, and asks whether anything but text changes. Nothing may read a sentence.

    python tools/nonsense.py [--mode check] [--part 1/3] FOLDER ...

Every case goes through each command twice, with sentences and with nonsense. Compared are the JSON without its texts,
the patches and the exit statuses.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

TEXTS = {"message", "why", "notes", "title", "text", "gaps"}  # keys of the JSON that hold sentences
MODES = ("check", "run", "fix")
LIMIT = 600.0  # seconds for one command


@contextlib.contextmanager
def nonsense() -> Iterator[None]:
    """All templates of all rules, remedies and renderers are nonsense inside."""
    from afterward import rules
    from afterward.model.words import Words
    from afterward.render import proofs, remedies, wording

    tables: list[dict[Any, str]] = [*rules.HELPS.values(), rules.NOTES, rules.LABELS]
    tables += [proofs.PROOFS, wording.EFFECTS, remedies._KINDS]
    before = [dict(table) for table in tables]
    modules = [sys.modules[rule.check.__module__] for rule in rules.all_rules()]
    words = [module.WORDS for module in modules]
    for table in tables:
        table.update({key: _word(str(key)) for key in table})
    for module, own in zip(modules, words, strict=True):
        module.WORDS = (
            _in_nonsense(own) if isinstance(own, Words) else {form: _in_nonsense(each) for form, each in own.items()}
        )
    try:
        yield
    finally:
        for table, old in zip(tables, before, strict=True):
            table.update(old)
        for module, own in zip(modules, words, strict=True):
            module.WORDS = own


def _word(seed: str) -> str:
    return f"blah{sum(seed.encode()) % 97} retain_graph store this pass, changed where it is made"


def _in_nonsense(words: Any) -> Any:
    tables = {name: {key: _word(str(key)) for key in getattr(words, name)} for name in ("labels", "notes", "helps")}
    return replace(words, fault=_word("f"), headline=_word("h"), why=_word("w"), **tables)


def without_texts(data: Any) -> Any:
    """The report without its sentences."""
    if isinstance(data, dict):
        return {key: without_texts(value) for key, value in data.items() if key not in TEXTS}
    return [without_texts(one) for one in data] if isinstance(data, list) else data


def _told(mode: str, source: Path, *, speak: bool) -> tuple[int | None, Any]:
    """What a command says of a copy of the case: its exit status (None: it took too long), and its report."""
    from enginelab.reports import placed
    from plantlab.forking import afterward, forked

    with placed(source) as folder:
        report = folder.parent / "report.json"
        words = [mode, "--format", "json", "--out", str(report), *(["--no-cache"] if mode == "check" else [])]

        def work() -> int:
            with nonsense() if speak else contextlib.nullcontext():
                return afterward(*words, "buggy.py")

        status = forked(work, folder, LIMIT)
        text = report.read_text(encoding="utf-8") if report.is_file() else ""
    return status, without_texts(json.loads(text or "null"))


def compare(mode: str, source: Path) -> str:
    """Empty where only text changes; else how the two reports differ, or that one command alone gives two reports."""
    plain, spoken = _told(mode, source, speak=False), _told(mode, source, speak=True)
    if plain == spoken:
        return ""
    return "differs" if _told(mode, source, speak=False) == plain else "two runs alone differ"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--mode", action="append", choices=MODES, help="one command only; may be given again")
    options.add_argument("--part", default="1/1", help="`2/3`: the second third of the cases")
    chosen = options.parse_args()
    from plantlab import forking

    forking.load(fixing="fix" in (chosen.mode or MODES))
    part, parts = map(int, chosen.part.split("/"))
    sources = sorted(file.parent for folder in chosen.folders for file in folder.glob("*/buggy.py"))[part - 1 :: parts]
    outcomes: Counter[str] = Counter()
    for source in sources:
        for mode in chosen.mode or MODES:
            outcome = compare(mode, source)
            outcomes[outcome or "the same but for text"] += 1
            if outcome:
                print(f"{mode} {source.name}: {outcome}", flush=True)
    for outcome, number in sorted(outcomes.items()):
        print(f"{number:8,}  {outcome}")
    return 1 if outcomes["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
