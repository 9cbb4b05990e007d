"""A patch never breaks a file: what an edit does not touch stays to the byte, and the diff leads back."""

from __future__ import annotations

import ast
import os
import random
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Ways
from afterward.model.site import Site
from afterward.repair import _KINDS as KINDS
from afterward.repair import Edit, Patch, Workshop, apply, candidates, unified
from afterward.repair.source import Source

LIBRARY = Path(sysconfig.get_paths()["stdlib"])


@given(st.text(alphabet="ab\n\r\té\u2028", max_size=60), st.data())
def test_nothing_outside_the_edits_changes(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=6)))
    edits = [Edit(a, b, data.draw(st.text(alphabet="xyz\n", max_size=5))) for a, b in _pairs(cuts)]
    if len({e.start for e in edits}) < len(edits):
        return
    after = apply(text, edits)
    kept, position = [], 0
    for edit in edits:
        kept.append(text[position : edit.start])
        position = edit.end
    rest = after
    for piece, edit in zip(kept, edits, strict=True):
        assert rest.startswith(piece + edit.text)
        rest = rest[len(piece) + len(edit.text) :]
    assert rest == text[position:]


def _pairs(numbers: list[int]) -> list[tuple[int, int]]:
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply("abcdef", [Edit(0, 3, ""), Edit(2, 4, "")])


def _fault(source: Source, chance: random.Random, kind: str) -> tuple[Diagnosis, Remedy]:
    """A made-up diagnosis on real code: every place is a statement, every name one that the file has."""
    sites = [_site(source, chance.choice(source.statements)) for _ in range(8)]
    names = re.findall(r"\b[a-z_]+(?:\.[a-z_]+)?(?:\[\d\])?", source.text)
    name = chance.choice(names) if names else "x"
    remedy = Remedy(kind, Effect.SAME_GRADIENTS, "this pass", sites[0], name)
    found = Diagnosis(
        message="made up",
        primary=Label(sites[1], ""),
        remedies=(remedy,),
        built=sites[2],
        freed=sites[3],
        reused=sites[4],
        written=sites[5],
        cut=sites[6],
        bridge=Bridge(name, "local", sites[7]),
        ways=Ways((sites[2],), (sites[3],), (sites[4],), (sites[5],), chance.choice(sites), sites[2]),
        code="AFT100",
        name=chance.choice(["history-cut", "loss-accumulated", "forward-never-swept", "state-carried-over"]),
    )
    return found, remedy


def _site(source: Source, statement: object) -> Site:
    place = source.range(statement)  # type: ignore[arg-type]
    return Site(source.file, place.start.line, place.end.line, place.start.column, place.end.column)


def _patches(source: Source, chance: random.Random) -> list[Patch]:
    found: list[Patch] = []
    shop = Workshop({source.file: source.text}, {source.file: source})
    for kind in KINDS:
        diagnosis, remedy = _fault(source, chance, kind)
        for patch, _ in zip(candidates(shop, diagnosis, remedy), range(6), strict=False):
            found.append(patch)
    return found


FILES = sorted(path for path in LIBRARY.glob("*.py") if 500 < path.stat().st_size < 8_000)
EXAMPLES = int(os.environ.get("EDITS", "15"))  # CONTRIBUTING names the long run


@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(FILES), st.integers(0, 10**6), st.booleans())
def test_every_edit_leaves_a_file_whole(path: Path, number: int, windows: bool) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    if windows:
        text = text.replace("\n", "\r\n")
    source = Source(str(path), text)
    for patch in _patches(source, random.Random(number)):
        _check(str(path), text, patch)


def _check(file: str, text: str, patch: Patch) -> None:
    after = patch.applied({file: text})[file]
    if after == text:
        return
    # A made-up place may be one where the statement has no meaning (a `return` outside of a function);
    # such a patch is never tried. It must still be a module for a parser.
    try:
        ast.parse(after)
    except SyntaxError as error:
        pytest.fail(f"{patch.kind}: {patch.summary}: {error}")
    assert ("\r\n" in after) == ("\r\n" in text)
    if "\r\n" in text:
        assert after.count("\n") == after.count("\r\n"), "one kind of line end"


def test_the_diff_leads_there_and_back(tmp_path: Path) -> None:
    chance = random.Random(3)
    for path in chance.sample(FILES, 4):
        text = path.read_text(encoding="utf-8", errors="replace")
        source = Source("m.py", text)
        for patch in _patches(source, chance)[:6]:
            after = patch.applied({"m.py": text})["m.py"]
            if after == text:
                continue
            target = tmp_path / "m.py"
            target.write_text(text, encoding="utf-8", newline="")
            diff = unified("m.py", text, after)
            _git_apply(tmp_path, diff)
            assert target.read_text(encoding="utf-8") == after
            _git_apply(tmp_path, diff, "--reverse")
            assert target.read_text(encoding="utf-8") == text


def _git_apply(folder: Path, diff: str, *flags: str) -> None:
    done = subprocess.run(
        ["git", "apply", "--unidiff-zero", *flags, "-"], cwd=folder, input=diff, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr


def test_a_file_without_a_last_newline(tmp_path: Path) -> None:
    text = "x = 1\nloss.backward()"
    source = Source("m.py", text)
    edit = source.insert_after(source.statements[-1], "y = 2")
    assert apply(text, [edit]) == "x = 1\nloss.backward()\ny = 2"
