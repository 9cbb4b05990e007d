"""`afterward report` and `run --html` as real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests import warm

SAVED = Path(__file__).parents[1] / "render" / "golden" / "carried.history.json"

BROKEN = """\
import torch
weight = torch.ones(3, requires_grad=True)
loss = (weight * weight).sum()
loss.backward()
loss.backward()
"""


def _afterward(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.afterward(*words, cwd=cwd)


def test_a_run_leaves_a_page_and_a_history_that_makes_the_same_page(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    done = _afterward("run", "--html", "page.html", "--history", "train.json", "train.py", cwd=tmp_path)
    assert done.returncode == 1
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "whose graph was already freed" in page
    assert '<span class="del">-loss.backward()' in page, "the change, as far as the source can tell"
    assert "<b>checked</b> not run yet; in the source, the fault is gone" in page
    assert str(tmp_path) not in (tmp_path / "train.json").read_text()
    (tmp_path / "train.py").unlink()  # the history holds the source as it ran
    done = _afterward("report", "train.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "wrote train.html\n"
    assert (tmp_path / "train.html").read_text(encoding="utf-8") == page


def test_the_life_line_alone(tmp_path: Path) -> None:
    done = _afterward("report", str(SAVED), "--svg", "life.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    root = ElementTree.parse(tmp_path / "life.svg").getroot()
    assert "reaches through hidden" in (root.get("aria-label") or "")
    assert [file.name for file in tmp_path.iterdir()] == ["life.svg"]
    done = _afterward("report", str(SAVED), "--svg", "life.svg", "--finding", "7", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "afterward: there is no finding 7: the history holds 1 finding\n")


def test_a_page_on_standard_output_needs_no_torch(tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from afterward.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "report", str(SAVED), "-o", "-"], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("</html>\n")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file or directory"),
        (b"", "it is not JSON"),
        (b"\x80\x81\x00", "it is not JSON"),
        (b'{"schema": "afterward/1", "findings": []}', "it is a report, not a history"),
        (b'{"schema": "afterward-history/5", "pools": 3}', "it is damaged"),
    ],
)
def test_a_bad_file_gives_one_line_and_status_two(content: bytes | None, words: str, tmp_path: Path) -> None:
    from afterward.cli import main

    file = tmp_path / "history.json"
    if content is not None:
        file.write_bytes(content)
    done = _run_in_process(main, ["report", str(file)])
    assert done[0] == 2
    assert done[1].startswith(f"afterward: cannot read {file}: ")
    assert words in done[1]
    assert done[1].count("\n") == 1


def _run_in_process(main: object, words: list[str]) -> tuple[int, str]:
    import contextlib
    import io

    assert callable(main)
    with contextlib.redirect_stderr(io.StringIO()) as told:
        status = main(words)
    return status, told.getvalue()


def test_the_page_of_a_fix_shows_the_change_and_its_history() -> None:
    from dataclasses import replace

    from afterward.model import facts
    from afterward.model.diagnosis import Proof
    from afterward.model.facts import Note
    from afterward.model.saved import read_saved
    from afterward.render.html import as_html
    from afterward.tasks.fix import Fixed
    from afterward.tasks.trial import Trial

    run = read_saved(SAVED.read_bytes())
    (found,) = run.report.findings
    change = "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-step(hidden)\n+step(hidden.detach())\n"
    cure = replace(
        found.remedies[0],
        patch=change,
        proof=Proof("proven", (Note("ran_to_end", (facts.count("passes", 5, "pass"),)),), 5),
    )
    report = replace(run.report, findings=(replace(found, remedies=(cure,)),))
    first = Trial("raised", run.report, sources=dict(run.sources), chapters=list(run.chapters))
    page = as_html(Fixed(report, first=first).saved())
    assert '<span class="add">+step(hidden.detach())\n</span>' in page
    assert "<b>proven</b> ran to the end without an error (5 passes)" in page
    assert 'class="lifeline"' in page


def test_a_page_that_can_not_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('ran')\n")
    done = _afterward("run", "--html", "no/such/folder/page.html", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
