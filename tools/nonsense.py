"""Replaces every sentence by nonsense, and asks whether anything but text changes. Nothing may read a sentence.

    python tools/nonsense.py FOLDER ...            # every case: run, check and fix, with sentences and with nonsense
    python tools/nonsense.py --speak run train.py  # one command of afterward's, speaking nonsense

Compared are the JSON without its texts, the patches and the exit statuses.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

TEXTS = {"message", "why", "notes", "title", "text", "gaps"}  # keys of the JSON that hold sentences
MODES = ("check", "run", "fix")


@contextlib.contextmanager
def nonsense() -> Iterator[None]:
    """All templates of all rules, remedies and renderers are nonsense inside."""
    from afterward import rules
    from afterward.model.words import Words
    from afterward.render import proofs, remedies, wording

    tables: list[dict[Any, str]] = [rules.HELPS, rules.NOTES, rules.LABELS]
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


def _told(mode: str, file: Path, speak: bool) -> tuple[int, Any]:
    begin = [sys.executable, __file__, "--speak"] if speak else [sys.executable, "-m", "afterward"]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        options = ["--format", "json", "--no-cache"] if mode == "check" else ["--format", "json", "--out", out.name]
        done = subprocess.run([*begin, mode, *options, file.name], cwd=file.parent, capture_output=True, timeout=600)
        text = done.stdout if mode == "check" else Path(out.name).read_bytes()
    return done.returncode, without_texts(json.loads(text or b"null"))


def main() -> int:
    if sys.argv[1:2] == ["--speak"]:
        from afterward.cli import main as afterward

        sys.argv[1:2] = []
        with nonsense():
            return afterward()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    options.add_argument("--every", type=int, default=1, help="only each n-th case")
    chosen = options.parse_args()
    files = sorted(file for folder in chosen.folders for file in folder.glob("*/buggy.py"))[:: chosen.every]
    differ = 0
    for file in files:
        for mode in chosen.modes:
            if _told(mode, file, False) != _told(mode, file, True):
                differ += 1
                print(f"{mode} {file.parent.name}: differs", flush=True)
    print(f"{len(files)} cases, {' '.join(chosen.modes)}: {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
