"""One shared finding through the text and JSON renderers, compared with golden files (`make bless` rewrites them)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from afterward import repair
from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Form, Label, Remedy, Report, Role, Severity
from afterward.model.facts import Note
from afterward.model.site import Site
from afterward.render import remedies
from afterward.render.json_report import as_data
from afterward.render.text import as_text

GOLDEN = Path(__file__).parent / "golden"

SOURCE = """\
import torch
cell, hidden = torch.nn.RNNCell(4, 8), torch.zeros(1, 8)
for x in torch.randn(3, 1, 4):
    hidden = cell(x, hidden)
    hidden.sum().backward()
"""


@pytest.fixture
def finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Diagnosis:
    (tmp_path / "train.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    file = str(tmp_path / "train.py")
    built = Site(file, 4, 4, 21, 27, 1)
    freed, reused = Site(file, 5, 5, 4, 27, 1), Site(file, 5, 5, 4, 27, 2)
    return Diagnosis(
        primary=Label(reused, Role.REUSED),
        secondary=(Label(built, Role.READ), Label(freed, Role.FREED)),
        facts=(
            facts.code("value", "hidden"),
            facts.step("built_step", built),
            facts.step("step", reused),
            facts.call("freed_by", freed),
            facts.count("nodes", 12, "node"),
            facts.size("bytes", 3145728),
        ),
        retain=Note("retain_all_steps"),
        remedies=(
            Remedy(
                "detach_state",
                Effect.CUTS_GRADIENTS,
                Form.STEP_START,
                target="hidden",
                facts=(facts.code("target", "hidden"), facts.code("code", "hidden = hidden.detach()")),
            ),
        ),
        built=built,
        freed=freed,
        reused=reused,
        bridge=Bridge("hidden", "global"),
        other_bridges=(Bridge("state[0]", "local"), Bridge("state[1]", "local")),
        nodes=12,
        bytes=3145728,
        code="AFT103",
        name="state-carried-over",
        severity=Severity.ERROR,
    )


def _compare(name: str, text: str, request: pytest.FixtureRequest) -> None:
    golden = GOLDEN / name
    if request.config.getoption("--bless"):
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("width", [70, 80, 110])
def test_text(width: int, finding: Diagnosis, request: pytest.FixtureRequest) -> None:
    text = as_text(finding, width)
    assert all(len(line) <= width for line in text.splitlines())
    _compare(f"finding-{width}.txt", text, request)


def test_json(finding: Diagnosis, request: pytest.FixtureRequest) -> None:
    data = as_data(Report(("train.py",), (finding,), (), 1, "second_backward", "2.13.0"))
    data["tool"] = {}  # versions change
    _compare("finding.json", json.dumps(data, indent=1) + "\n", request)


def test_what_is_labelled_is_shown_of_a_long_line(tmp_path: Path) -> None:
    line = "    " + "terms = dict(" + ", ".join(f"term_{n}=loss_{n}(prediction, target)" for n in range(5)) + ")"
    (tmp_path / "long.py").write_text(line + "\n")
    start = line.index("loss_4")
    site = Site(str(tmp_path / "long.py"), 1, 1, start, start + 26)
    text = as_text(Diagnosis(Label(site, Role.REUSED), code="AFT401"))
    shown, mark = text.splitlines()[2:4]
    assert len(shown) <= 80
    assert shown.startswith("1 | ...")
    column = shown.index("loss_4")
    assert mark[column : column + 26] == "^" * 26
    whole = as_text(Diagnosis(Label(Site(site.file, 1, 1, 4, len(line)), Role.REUSED), code="AFT401"))
    assert whole.splitlines()[2].startswith("1 |     terms = dict(")


def test_a_change_is_not_said_twice_and_its_long_lines_are_folded(finding: Diagnosis) -> None:
    code = "hidden = hidden.detach()"
    long = "    hidden = cell(x, " + "hidden.detach() + " * 6 + "hidden)"
    patch = f"--- a/train.py\n+++ b/train.py\n@@ -4,1 +4,1 @@\n-    hidden = cell(x, hidden)\n+{long}\n"
    remedy = replace(finding.remedies[0], patch=patch)
    assert code in as_text(finding)
    lines = as_text(replace(finding, remedies=(remedy,))).splitlines()
    assert code not in "\n".join(lines)
    assert max(map(len, lines)) <= 80
    added = [line[8:].strip() for line in lines if line[6:8] == "+ "]
    assert " ".join(added) == long.strip()


def test_each_kind_of_change_has_words_of_its_own() -> None:
    assert set(remedies._KINDS) == set(repair._KINDS)
