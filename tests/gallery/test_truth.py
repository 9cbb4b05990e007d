"""Every program of the gallery does what its page says: run by Python alone, and run under afterward."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.gallery import FOLDER, NAMES, Program, examples
from afterward.model.diagnosis import Diagnosis, Severity
from afterward.render.lifeline import story_of
from afterward.render.lifeline.draw import as_svg
from afterward.render.source import SourceTexts
from afterward.render.text import as_text
from afterward.tasks.sketch import with_changes

MESSAGES = {
    "": "",
    "second_backward": "Trying to backward through the graph a second time",
    "inplace": "has been modified by an inplace operation",
    "no_grad": "does not require grad",
}
PAGES = Path(__file__).parents[2] / "docs" / "gallery"
PICTURES = PAGES.parent / "images" / "gallery"
# What these print differs from run to run.
PRINTS_TIMES = {"per-sample-loop/batched", "lightgcn/costs", "lightgcn-dgl/costs", "lightgcn-pyg/costs"}


def _shown_in(picture: str) -> list[tuple[str, str]]:
    """The parts of a picture, each with its words and its kind; where they are drawn is for the browser's tests."""
    shown = re.sub(r"<title>.*?</title>", "", picture)  # what a pointer shows
    return re.findall(r'<(?:g|text|tspan|path) class="([^"]+)"|>([^<>\n]+)<', shown)


def _programs() -> list[object]:
    return [
        pytest.param(program, id=program.full_name, marks=_needs(example.needs))
        for example in examples()
        for program in example.programs
    ]


def _needs(needs: tuple[str, str] | None) -> list[pytest.MarkDecorator]:
    missing = needs is not None and importlib.util.find_spec(needs[0]) is None
    return [pytest.mark.skipif(missing, reason="its graph library is not installed")]


def _expected(found: Diagnosis, program: Program) -> bool:
    """Advice is told by a page only where it is what the example is about."""
    return found.severity is not Severity.INFO or found.code == program.finds


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", _programs())
def test_a_program_does_what_its_page_says(
    program: Program,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    torch_as_it_was: None,
) -> None:
    monkeypatch.setattr(sys, "argv", [program.full_name, *program.quick])
    message = _raised_by_python_alone(program.path)
    printed = capsys.readouterr().out
    assert MESSAGES[program.raises] in message
    assert bool(message) == bool(program.raises)

    monkeypatch.chdir(tmp_path)
    (tmp_path / program.example).mkdir()
    seen = watch_source(program.path.read_text(), tmp_path, f"{program.full_name}.py")
    assert str(seen.error or "") == message
    found = [(f.code, f.bridge.name if f.bridge else "") for f in seen.findings if _expected(f, program)]
    assert [code for code, _ in found] == ([program.finds] if program.finds else [])
    if program.bridge:
        assert found[0][1] == program.bridge
    if program.full_name not in PRINTS_TIMES:
        assert capsys.readouterr().out == printed
    shown = " ".join((PAGES / f"{program.example}.md").read_text().split())
    sources = {found.primary.site.file: program.path.read_text() for found in seen.findings}
    reports = [as_text(found) for found in with_changes(tuple(seen.findings), sources)]
    if program.quick or not program.raises:  # counts and times differ from run to run, the places do not
        reports = [report.split("\n\n")[0] for report in reports]
    reports = [" ".join(report.split()) for report in reports]
    assert all(report in shown for report in reports), "the page shows another report: `make gallery` renews it"
    kept = PICTURES / f"{program.example}-{program.name}.svg"
    if program.raises and kept.exists():
        drawn = as_svg(story_of(seen.watched.chapters[0].history, seen.findings[0], SourceTexts(sources)))
        assert _shown_in(drawn) == _shown_in(kept.read_text()), "it draws another picture: look at it, `make gallery`"


def _raised_by_python_alone(path: Path) -> str:
    try:
        runpy.run_path(str(path))
    except RuntimeError as error:
        return str(error)
    return ""


def test_every_folder_is_listed_and_every_program_has_its_place_on_the_page() -> None:
    assert {folder.parent.name for folder in FOLDER.glob("*/page.md")} == set(NAMES)
    for example in examples():
        on_page = {program.name for program in example.programs}
        assert on_page == {path.stem for path in (FOLDER / example.name).glob("*.py")}
        assert example.title
        assert example.summary


def test_what_you_may_have_read_has_a_program_of_every_kind() -> None:
    told = [program for example in examples() for program in example.programs if program.read]
    assert len(told) > 25
    assert {program.raises for program in told} == {"", "second_backward", "inplace"}


ADVICE = {
    "same-loss-twice/wrong": "remove_duplicate",
    "one-layer-twice/fails": "combine_losses",
    "two-networks/fails": "detach_input",
    "combined-losses/separate": "combine_losses",
    "retain-graph-cure/broken": "detach_state",
    "truncated-bptt/wrong": "detach_state",
    "truncated-bptt/halfway": "detach_state",
    "cached-embeddings/wrong": "detach_state",
    "gan/wrong": "detach_input",
    "actor-critic/wrong": "detach_input",
    "multi-agent/wrong": "recompute_forward",
    "higher-order/wrong": "create_graph",
    "gradient-penalty/wrong": "create_graph",
    "lightgcn/wrong": "recompute_forward",
}


@pytest.mark.parametrize("name", ADVICE)
def test_the_first_advice_is_what_the_right_program_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None
) -> None:
    monkeypatch.setattr(sys, "argv", [name])
    (found,) = watch_source((FOLDER / f"{name}.py").read_text(), tmp_path).findings
    assert found.remedies[0].kind == ADVICE[name]
