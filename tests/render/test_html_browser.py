"""The page in headless Chromium: it loads without a complaint, and pointer, keyboard and time do what they should."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.histories import runs_of_all_rules
from tests.render.chromium import browser
from tests.render.pictures import apart

from afterward.model.diagnosis import Bridge, Diagnosis, Label, Report
from afterward.model.history import Edge, History, Node, Pass, Saved
from afterward.model.saved import Chapter, SavedRun, as_saved, read_saved
from afterward.model.site import Iteration, Level, Site, Where
from afterward.render.html import as_html

GOLDEN = Path(__file__).parent / "golden"
RUN = GOLDEN / "carried.history.json"  # examples/carried_state.py as it was watched; `make bless` writes it anew


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens a run's page from disk; any error or complaint in the console fails the test."""
    complaints: list[str] = []
    pages = []

    def open_page(run: SavedRun, **options: Any) -> Any:
        file = tmp_path / "report.html"
        file.write_text(as_html(run), encoding="utf-8")
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, "offline": True, **options})
        page = context.new_page()
        pages.append(context)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda one: complaints.append(one.url) if not one.url.startswith("file:") else None)
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for context in pages:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def carried(request: pytest.FixtureRequest) -> SavedRun:
    if request.config.getoption("--bless"):
        from tests.histories import run_of

        from afterward.model.saved import as_saved

        source = Path(__file__).parents[2] / "examples" / "carried_state.py"
        RUN.write_text(as_saved(run_of(source.read_text(encoding="utf-8"), source.name)), encoding="utf-8")
    return read_saved(RUN.read_bytes())


def test_pointing_and_clicking(opened: Any, carried: SavedRun) -> None:
    page = opened(carried)
    dead = page.locator("g.block.dead").first
    dead.hover()
    assert "freed by an earlier backward()" in page.inner_text(".hint")
    assert "96 nodes" in page.inner_text(".hint")
    page.mouse.move(2, 2)
    assert page.locator(".hint").is_hidden()
    dead.click()
    detail = page.locator("[data-detail]")
    assert "hidden = self.cell(value, hidden)" in detail.inner_text()
    assert page.locator("g.box.marked").count() == 1  # the same part in the graph below
    dead.click()
    assert detail.is_hidden()
    page.locator("g.event.late").click()
    assert "Trying to backward through the graph a second time" in detail.inner_text()


def test_the_keyboard_is_enough(opened: Any, carried: SavedRun) -> None:
    page = opened(carried)
    page.locator("g.block").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.event") == "0"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert page.locator("[data-detail]").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("[data-detail]").is_hidden()
    box = page.locator("g[data-box]").first
    box.focus()
    page.keyboard.press("Enter")
    assert page.locator("g[data-box]").first.get_attribute("aria-expanded") == "true"
    assert page.evaluate("document.activeElement.dataset.box") == "0"  # the focus stays where it was
    assert page.locator("g.op").count() == 96
    page.keyboard.press("Space")
    assert page.locator("g.op").count() == 0
    for part in page.locator("[tabindex][role='button']").all():
        assert part.get_attribute("aria-label")


def test_what_the_pointer_shows_the_keyboard_shows(opened: Any, carried: SavedRun) -> None:
    page = opened(carried)
    page.locator("[data-theme-button]").focus()
    page.keyboard.press("Tab")  # to the first part of the picture, in time
    assert page.evaluate("document.activeElement.dataset.block") == "0"
    assert "96 nodes" in page.inner_text(".hint")
    page.locator(".as-table summary").focus()
    page.keyboard.press("Enter")
    cells = page.locator(".as-table tbody td").all_inner_texts()
    assert cells == ["call 1", "line 30", "22.3 KB", "freed it", "call 2", "line 30", "22.3 KB", "failed"]


def test_time_can_be_turned_back(opened: Any, carried: SavedRun) -> None:
    page = opened(carried)
    slider = page.locator("[data-time] input")
    dead, late = page.locator("g.block.dead").first, page.locator("g.event.late")
    slider.fill("0")
    assert "yet" in dead.get_attribute("class")  # it lives still
    assert "future" in late.get_attribute("class")
    slider.press("ArrowRight")
    assert "yet" not in dead.get_attribute("class")  # the first pass has freed it
    slider.press("End")
    assert page.locator("svg.lifeline .future").count() == 0
    page.get_by_role("button", name="Play").click()
    page.wait_for_selector("g.event.step:not(.future)")
    page.get_by_role("button", name="Pause").click()


def test_light_and_dark(opened: Any, carried: SavedRun) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page = opened(carried, color_scheme="dark")
    assert page.evaluate(ground) == "rgb(20, 23, 28)"
    page.locator("[data-theme-button]").click()
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.locator("[data-theme-button]").click()
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"  # paper is white
    assert page.locator("svg.lifeline").is_visible()


def test_a_small_screen_does_not_scroll_sideways(opened: Any, carried: SavedRun) -> None:
    page = opened(carried)
    for width in (360, 800, 1600):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # What went wrong is said in words that fit, whatever of the picture does.
        for told in page.locator(".answer > div, .beats li, .by-line code").all():
            box = told.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["width"] >= 140


def test_a_wide_picture_begins_at_its_left(opened: Any, carried: SavedRun) -> None:
    long_name = "/".join(["a_folder_with_a_long_name"] * 12) + "/train.py"
    text = as_saved(carried).replace("carried_state.py", long_name)
    page = opened(read_saved(text), viewport={"width": 700, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 700
    frame = page.locator(".stage").bounding_box()
    assert page.evaluate("document.querySelector('.stage').scrollLeft") == 0
    page.evaluate("document.querySelector('.stage').scrollLeft = 9999")
    late = page.locator("g.event.late .foot").bounding_box()
    assert frame["x"] < late["x"] < frame["x"] + frame["width"]
    name = page.locator(".lane .under").first.bounding_box()
    assert frame["x"] < name["x"] + name["width"] < frame["x"] + frame["width"], "the lanes keep their names"


SMALL_TEXT = """() => [...document.querySelectorAll('body *')].filter((part) => {
  const own = [...part.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const silent = ['SCRIPT', 'STYLE', 'TITLE'].includes(part.tagName.toUpperCase());
  if (!own || silent || !part.getClientRects().length) return false;
  const drawn = part.ownerSVGElement;
  const scale = drawn ? drawn.getBoundingClientRect().width / drawn.viewBox.baseVal.width : 1;
  return parseFloat(getComputedStyle(part).fontSize) * scale < 11.99;
}).map((part) => part.textContent.trim().slice(0, 40))"""


# Words of the picture that lie on each other: by their boxes, which a few pixels of another font do not change.
OVERLAPS = """() => {
  const words = [...document.querySelectorAll('.stage svg text')].filter((one) => one.getClientRects().length);
  const boxes = words.map((one) => [one.textContent, one.getBoundingClientRect()]);
  const found = [];
  boxes.forEach(([a, p], n) => boxes.slice(n + 1).forEach(([b, q]) => {
    const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (wide > 14 && high > 6) found.push(`${a} / ${b}`);
  }));
  return found;
}"""
GROUNDS = "() => [document.body, document.querySelector('.stage')].map((one) => getComputedStyle(one).backgroundColor)"
HIDDEN = "() => { const s = document.querySelector('.stage'); return s.scrollWidth - s.clientWidth; }"


def test_every_rule_answers_above_the_fold_and_nothing_is_cut(opened: Any) -> None:
    """Cause, change and picture at 1440 x 900, at a tablet's and a phone's width, for the first fault of each rule."""
    first: dict[str, SavedRun] = {}
    for name, run in runs_of_all_rules().items():
        first.setdefault(name[:6], run)
    for code, run in first.items():
        page = opened(run, viewport={"width": 1440, "height": 900})
        answer, stage = (page.locator(one).first.bounding_box() for one in (".answer", ".stage"))
        assert page.locator(".answer .why").first.inner_text(), code
        assert answer["y"] + answer["height"] <= stage["y"], code
        assert stage["y"] + stage["height"] <= 900, f"{code}: the picture ends below the fold"
        assert page.evaluate(HIDDEN) <= 0, f"{code}: the picture is wider than its frame"
        assert page.locator(".life .keys span").count() > 0, f"{code}: no legend"
        assert page.evaluate(OVERLAPS) == [], f"{code}: words on words"
        light = page.evaluate(GROUNDS)
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(GROUNDS) != light, f"{code}: no dark page"
        assert page.evaluate(OVERLAPS) == [], f"{code}: words on words in the dark"
        for width in (1440, 1024, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (code, width)
            assert page.evaluate(SMALL_TEXT) == [], (code, width)
            assert page.evaluate("document.querySelector('.stage').scrollLeft") == 0, (code, width)
            assert page.evaluate(OVERLAPS) == [], (code, width)
            if width > 1000:
                assert page.evaluate(HIDDEN) <= 0, f"{code}: the picture is cut at {width}"
        page.close()


def test_the_story_in_words_leads_to_the_picture(opened: Any, carried: SavedRun) -> None:
    page = opened(carried)
    assert page.inner_text(".answer .why").startswith("hidden carries its graph from one step to the next")
    told = page.locator(".beats li")
    assert told.count() == 4
    told.nth(1).hover()
    assert "pointed" in page.locator("g.event.pass").first.get_attribute("class")
    told.nth(1).click()
    assert "loss.backward(), line 30" in page.inner_text("[data-detail]")
    dead, first = page.locator("g.block.dead").first, page.locator("g.event.pass").first
    assert "freed" in dead.text_content()
    assert "line 30 · frees" in first.text_content()
    page.locator("[data-time] input").fill("0")
    assert dead.locator(".fate").is_hidden()  # then it lived


EVIL = (
    "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1> ' \" ` &lt; \\u003c "
    "\u202e\u2067 \u05d0\u05d1 \U0001f9e8 \x00\x0b ]]> <!-- --> {{7*7}} ${7*7}"
)


def test_source_is_shown_and_never_run(opened: Any, carried: SavedRun) -> None:
    file = next(iter(carried.sources))
    lines = carried.sources[file].splitlines()
    wild = {file: "\n".join(f"{line}  # {EVIL}" for line in lines)}
    finding = carried.report.findings[0]
    wild_finding = replace(
        finding, facts=tuple(replace(fact, text=EVIL) for fact in finding.facts), bridge=Bridge(EVIL, "local")
    )
    run = SavedRun(replace(carried.report, findings=(wild_finding,), argv=(EVIL,)), carried.chapters, wild)
    page = opened(run)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    shown = page.inner_text(".source")
    assert "</script><script>window.hacked=1</script>" in shown
    assert "\u27eaU+202E\u27eb\u27eaU+2067\u27eb \u05d0\u05d1 \U0001f9e8 \u2400" in shown
    page.locator("g.block").first.click()
    page.locator("g[data-box]").first.click()
    page.locator("g.block").first.hover()
    assert page.evaluate("window.hacked") is None


def _deep(steps: int, each: int) -> SavedRun:
    """A state carried through very many steps, of which the last pass meets all."""
    loop, lines = Site("train.py", 2, 2), 8
    nodes, passes = [], []
    for step in range(1, steps + 1):
        iterations = (Iteration(loop, 1, step),)
        ways = [
            Where((Level(1, "", Site("train.py", 3 + n, 3 + n), step * 100 + n, iterations),)) for n in range(lines + 1)
        ]
        for position in range(each):
            number = len(nodes)
            before = (Edge(number - 1),) if number else ()
            way = ways[position * lines // each]
            saved = (Saved("result", "freed"),)
            nodes.append(Node(number, "TanhBackward0", number, (number + 1) << 40, way, before, saved, None, 64))
        newest, used = (
            len(nodes),
            frozenset(range(len(nodes)) if step == steps else range(len(nodes) - each, len(nodes))),
        )
        error = "second_backward" if step == steps else None
        passes.append(Pass(step, ways[lines], (newest << 40) + 5, (Edge(newest - 1),), used=used, error=error))
    source = "import torch\nfor x in data:\n" + "".join(f"    h{n} = layer(h{n - 1})\n" for n in range(lines))
    late = Label(Site("train.py", 3 + lines, 3 + lines, 0, 5, steps), "reused")
    found = Diagnosis(late, bridge=Bridge("h7", "local"), code="AFT103")
    history = History(tuple(nodes), tuple(passes))
    return SavedRun(Report(("train.py",), (found,)), (Chapter(history, (0,)),), {"train.py": source})


def test_a_graph_of_a_hundred_thousand_nodes_is_folded(opened: Any) -> None:
    page = opened(_deep(50, 2000))
    boxes = page.locator("g[data-box]")
    assert 8 <= boxes.count() <= 120
    assert "100,000 nodes" in page.inner_text(".graph-place h2")
    assert page.locator("g.block").count() <= 24
    frame, bridge = page.locator("[data-canvas]").bounding_box(), page.locator(".edge.bridge").bounding_box()
    assert frame["y"] < bridge["y"] < frame["y"] + frame["height"] - bridge["height"], "what leads back is in sight"
    boxes.first.click()
    assert "250 × Tanh" in boxes.first.text_content()


def test_the_picture_looks_as_it_did(opened: Any, carried: SavedRun, chromium: Any, request: Any) -> None:
    page = opened(carried)
    taken = page.locator("svg.lifeline").screenshot()
    golden = GOLDEN / "lifeline.png"
    if request.config.getoption("--bless"):
        golden.write_bytes(taken)
    blank = chromium.new_page()  # a page of its own: the report's policy allows no picture from outside
    mean, most = apart(blank, taken, golden.read_bytes())
    blank.close()
    assert mean < 0.02, f"the picture has changed (mean {mean:.3f}): look at it, then `make bless`"
    assert most < 0.5, f"a part of the picture has changed ({most:.2f}): look at it, then `make bless`"


def test_the_data_in_the_page_is_json(opened: Any, carried: SavedRun) -> None:
    page = opened(carried)
    data = json.loads(page.evaluate("document.getElementById('afterward-data').textContent"))
    assert len(data["findings"]) == len(carried.report.findings)
