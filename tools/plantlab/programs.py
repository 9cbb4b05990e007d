"""The correct programs that faults are planted in: the gallery's, the `fixed.py` of cases, prepared, generated ones."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from afterward.gallery import examples

ENTRY = "train.py"


@dataclass(frozen=True)
class Program:
    """Files by name; `ENTRY` is the one that runs. Faults are planted in those of `places`."""

    name: str
    files: dict[str, Path] = field(hash=False)
    places: tuple[str, ...] = (ENTRY,)

    def copy(self, folder: Path, changed: dict[str, str] | None = None) -> None:
        for name, path in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
        for name, text in (changed or {}).items():
            (folder / name).write_text(text, encoding="utf-8")


def of_cases(folder: Path) -> Iterator[Program]:
    for case in sorted(p.parent for p in folder.glob("*/truth.json")):
        files = {ENTRY: case / "fixed.py"}
        for path in sorted(case.rglob("*.py")):
            name = path.relative_to(case).as_posix()
            if name not in ("buggy.py", "fixed.py"):
                files[name] = path
        replaced = {name.replace("_fixed.py", ".py") for name in files if name.endswith("_fixed.py")}
        places = tuple(name for name in files if name not in replaced and not name.endswith("__init__.py"))
        yield Program(case.name, files, places)


def of_the_gallery() -> Iterator[Program]:
    """Programs that raise nothing and of which nothing is to be found."""
    for example in examples():
        for program in example.programs:
            if not program.raises and not program.finds and example.needs is None:
                yield Program(f"gallery-{program.example}-{program.name}", {ENTRY: program.path})


def of_folder(folder: Path, prefix: str) -> Iterator[Program]:
    """Single files, or folders with a `train.py`: correct training programs that whoever plants brings along."""
    for path in sorted(folder.glob("*.py")) if folder.is_dir() else ():
        yield Program(f"{prefix}-{path.stem}", {ENTRY: path})
    for entry in sorted(folder.glob(f"*/{ENTRY}")) if folder.is_dir() else ():
        files = {p.relative_to(entry.parent).as_posix(): p for p in sorted(entry.parent.rglob("*.py"))}
        yield Program(f"{prefix}-{entry.parent.name}", files, tuple(files))
