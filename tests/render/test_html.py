"""The page and the life line, as text: every fault is drawn, nothing of the reader's source becomes markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.histories import run_of, runs_of_all_rules

from afterward.errors import HistoryUnreadable
from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Label, Proof, Remedy, Report, Severity
from afterward.model.facts import Note
from afterward.model.history import History
from afterward.model.memory import LineBytes, Memory, PassBytes
from afterward.model.saved import Chapter, SavedRun, as_saved, read_saved
from afterward.model.site import Site
from afterward.render.html import as_html
from afterward.render.lifeline import picture, story_of
from afterward.render.source import SourceTexts, visible

GOLDEN = Path(__file__).parent / "golden"

EVIL = "x = 1  # </script><script>window.hacked = 1</script> & \"quotes' \U0001f9e8 \u202e\u2066 abc\u2069 \ufeff"


class _Tags(HTMLParser):
    """The tags of a page, with what is in scripts kept apart."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def tags_of(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(page)
    return parser.tags


def test_every_fault_has_its_story(request: pytest.FixtureRequest) -> None:
    """Every faulty block of the rules' pages; the first of each rule is compared word by word."""
    told: dict[str, str] = {}
    for name, run in runs_of_all_rules().items():
        history = run.history_of(0)
        assert history is not None, name
        story = story_of(history, run.report.findings[0], SourceTexts(run.sources))
        assert story.beats, name
        beats = "".join(f"    {n}. {beat.text}\n" for n, beat in enumerate(story.beats, 1))
        if run.report.findings[0].severity is not Severity.ERROR:  # how often was looked is not the picture's business
            beats = re.sub(r"(?<!line )(?<!Line )\b[\d,]*\d\b(?!\.)", "N", beats)
        told.setdefault(name[:6], f"{name}\n  {story.moral}\n{beats}")
    golden = GOLDEN / "lifelines.txt"
    if request.config.getoption("--bless"):
        golden.write_text("\n".join(told.values()), encoding="utf-8")
    assert "\n".join(told.values()) == golden.read_text(encoding="utf-8")


def test_every_picture_is_whole() -> None:
    for name, run in runs_of_all_rules().items():
        drawn = picture(run)
        assert drawn is not None, name
        root = ElementTree.fromstring(drawn)
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        assert len(ids) == len(set(ids)), name
        assert set(re.findall(r"url\(#([\w-]+)\)", drawn)) <= set(ids), name
        _, _, width, height = map(float, (root.get("viewBox") or "").split())
        for element in root.iter("{http://www.w3.org/2000/svg}text"):
            assert 0 <= float(element.get("x", "0")) <= width, name
            assert 0 <= float(element.get("y", "0")) <= height, name


def test_a_page_stands_alone() -> None:
    for name, run in runs_of_all_rules().items():
        page = as_html(run)
        for tag, attributes in tags_of(page):
            assert tag not in ("link", "iframe", "img", "object", "base"), name
            assert not {"src", "onclick", "onload", "style"} & set(attributes), name
            assert attributes.get("href", "#").startswith("#"), name
        policy = next(a["content"] for t, a in tags_of(page) if t == "meta" and a.get("http-equiv"))
        assert policy is not None
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy


def _finding(**more: object) -> Diagnosis:
    site = Site("train.py", 1, 1, 0, 5, 2)
    return Diagnosis(Label(site, "reused"), code="AFT100", **more)  # type: ignore[arg-type]


def _saying(text: str) -> dict[str, object]:
    """A finding that shows this text wherever it shows a fact."""
    site = Site(text, 1, 1)
    known = (facts.code("value", text), facts.call("freed_by", site), facts.verbatim("loss", text))
    return {"facts": known, "notes": (Note("raised", (facts.verbatim("error", text),)),)}


def _page(source: str, *findings: Diagnosis) -> str:
    return as_html(SavedRun(Report(("train.py",), findings), (), {"train.py": source}))


def test_source_is_text() -> None:
    page = _page(EVIL, _finding(**_saying(EVIL)))
    assert page.count("<script") == 2
    assert "window.hacked = 1</script>" not in page
    assert "\u202e" not in page
    assert "\u27eaU+202E\u27eb" in page


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_text_becomes_a_tag(source: str) -> None:
    plain = [tag for tag, _ in tags_of(_page("x", _finding(**_saying("x"), nodes=1)))]
    wild = [tag for tag, _ in tags_of(_page(source, _finding(**_saying(source), nodes=1)))]
    free = ("code", "span", "li", "p")  # how many of these there are depends on lines and backticks
    assert [tag for tag in wild if tag not in free] == [tag for tag in plain if tag not in free]


def test_what_hides_is_spelled_out() -> None:
    assert visible("a\x00b\x1bc\u202ed") == "a\u2400b\u241bc\u27eaU+202E\u27ebd"
    assert visible("naïve 中文 🧨") == "naïve 中文 🧨"


def test_a_remedy_shows_its_diff_and_its_proof() -> None:
    patch = "--- train.py\n+++ train.py\n@@ -1 +1 @@\n-x = cell(x, h)\n+x = cell(x, h.detach())\n"
    proof = Proof("proven", (Note("ran", (facts.count("passes", 20, "pass"),)),), 20, 2048)
    remedy = Remedy("detach_state", Effect.CUTS_GRADIENTS, "step_start", patch=patch, proof=proof)
    page = _page("x = 1\n", _finding(remedies=(remedy,)))
    assert '<span class="add">+x = cell(x, h.detach())\n</span>' in page
    assert '<p class="proof proven"><b>proven</b> ran without an error' in page


def test_a_page_says_in_words_what_its_picture_shows() -> None:
    for name, run in runs_of_all_rules().items():
        history = run.history_of(0)
        assert history is not None, name
        story = story_of(history, run.report.findings[0], SourceTexts(run.sources))
        page = as_html(run)
        assert page.count("<li data-beat=") >= len(story.beats), name
        assert '<section class="answer"' in page, name
        assert 'class="moral" x=' not in page, "words of the page are not drawn"
        assert 'class="moral" x=' in (picture(run) or ""), "a picture alone has its own"


def test_a_page_without_findings_says_so() -> None:
    assert "No backward pass was seen" in as_html(SavedRun(Report(("train.py",)), (Chapter(History()),)))
    fine = run_of(
        "w = torch.ones(2, requires_grad=True)\nfor _ in range(3):\n    w.exp().sum().backward()\n    w.grad = None\n"
    )
    assert fine.report.findings == ()
    assert "No problems found" in as_html(fine)
    assert "uses a graph of its own and frees it" in (picture(fine) or "")
    early = run_of(
        "w = torch.ones(2, requires_grad=True)\n"
        "losses = [(w * n).exp().sum() for n in range(3)]\n"
        "for loss in losses:\n    loss.backward()\n    w.grad = None\n"
    )
    assert picture(early) is None, "these graphs were not built in turn"


def test_an_error_that_is_caught_in_every_step_is_shown_once() -> None:
    caught = tuple(_finding(caught=True) for _ in range(500))
    page = _page("x = 1\n", *caught, _finding())
    assert page.count("<article") == 2
    assert "(caught by the program, 500 times)" in page


def test_cells_of_a_notebook_are_named_as_there() -> None:
    run = run_of(
        "w = torch.ones(2, requires_grad=True)\n"
        "for _ in range(2):\n"
        "    loss = w.exp().sum()\n"
        "    loss.backward()\n"
        "    loss.backward()\n"
    )
    named = as_saved(run)
    assert "step 1" in (picture(run) or "")
    document = json.loads(named)
    for iteration in document["pools"]["iterations"]:
        iteration[3] = "In[7]"
    drawn = picture(read_saved(json.dumps(document))) or ""
    assert "In[7]" in drawn
    assert "step 1" not in drawn


def test_the_account_is_part_of_the_page() -> None:
    site = Site("train.py", 1, 1)
    memory = Memory(
        2048, 12, site, 3, (LineBytes(site, 2048, 2, 512),), passes=(PassBytes(site, "backward", 4, 1, 2048, 9),)
    )
    run = SavedRun(Report(("train.py",), memory=memory), (), {"train.py": "loss = net(x)\n"})
    page = as_html(read_saved(as_saved(run)))
    assert "2.0 KB of saved values at the peak when call 3 of train.py:1 started" in page
    assert "<td><code>loss = net(x)</code></td><td>2.0 KB</td>" in page
    assert "512 B (grey) in tensors that a variable also holds" in page
    assert "<td>4 × backward</td><td>2.0 KB</td><td>9 B by 1 of them</td>" in page


def test_the_source_is_the_one_that_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("changed = True\n", encoding="utf-8")
    words = re.sub("<[^>]*>", "", _page("as_it_ran = True\n", _finding()))
    assert "as_it_ran = True" in words
    assert "changed = True" not in words


def test_saved_values_by_line_come_near_what_was_measured() -> None:
    """The table is worked out from shapes; the teeth are measured. For a plain network they agree."""
    from afterward.render.sizes import saved_sizes

    run = run_of(
        "layer = torch.nn.Linear(8, 64)\n"
        "hidden = torch.zeros(4, 64)\n"
        "for x in torch.randn(3, 4, 8):\n"
        "    hidden = torch.tanh(layer(x) * torch.sigmoid(hidden))\n"
        "    hidden.sum().backward()\n"
    )
    history = run.history_of(0)
    assert history is not None
    measured = max(one.bytes for one in history.passes)
    step_one = sum(
        size for number, size in saved_sizes(history).items() if history.node(number).moment < history.passes[0].moment
    )
    assert 0.5 * measured <= step_one <= 1.2 * measured


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_strange_history_still_makes_a_page(data: st.DataObject) -> None:
    """A history that can be read can be shown, whatever its numbers are."""
    runs = runs_of_all_rules()
    document = json.loads(as_saved(runs[data.draw(st.sampled_from(sorted(runs)))]))
    pools = document["pools"]
    pool = data.draw(st.sampled_from([name for name in ("sites", "iterations", "levels") if pools[name]]))
    row = data.draw(st.sampled_from(pools[pool]))
    place = data.draw(st.sampled_from([n for n, value in enumerate(row) if type(value) is int]))
    row[place] = data.draw(st.sampled_from([0, 1, 2]) if pool != "sites" else st.sampled_from([-3, 0, 1, 10**9]))
    try:
        run = read_saved(json.dumps(document))
    except HistoryUnreadable:
        return
    assert as_html(run).endswith("</html>\n")
