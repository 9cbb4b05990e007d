"""The page of each shipped example with a finding, at three widths, light and dark, beside the picture kept of it."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.histories import run_of
from tests.render.chromium import browser
from tests.render.pictures import apart

from afterward.gallery import Program, examples
from afterward.render.html import as_html

KEPT = Path(__file__).parent / "golden" / "gallery"
WIDTHS = (1440, 1024, 390)
SCHEMES = ("light", "dark")

# Six screenshots on one sheet: a row for each scheme, so that a reader of a changed picture sees all of it at once.
SHEET = """async (pictures) => {
  const [wide, high, columns] = [320, 200, 3];
  const canvas = new OffscreenCanvas(wide * columns, high * Math.ceil(pictures.length / columns));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  for (const [n, data] of pictures.entries()) {
    const image = new Image();
    image.src = "data:image/png;base64," + data;
    await image.decode();
    const scale = Math.min(wide / image.width, high / image.height);
    const [x, y] = [(n % columns) * wide, Math.floor(n / columns) * high];
    context.drawImage(image, x, y, image.width * scale, image.height * scale);
  }
  const bytes = new Uint8Array(await (await canvas.convertToBlob({type: "image/jpeg", quality: 0.7})).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}"""


def _shown() -> list[Any]:
    """The programs with a finding. A page without one shows times, which are never the same twice."""
    programs = [(example, program) for example in examples() for program in example.programs]
    return [
        pytest.param(program, example.needs and example.needs[0], id=program.full_name)
        for example, program in programs
        if program.finds
    ]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("program", "needs"), _shown())
def test_a_page_looks_as_it_did(
    program: Program,
    needs: str | None,
    chromium: Any,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if needs is not None:
        pytest.importorskip(needs)
    monkeypatch.setattr(sys, "argv", [program.full_name, *program.quick])
    file = tmp_path / "report.html"
    file.write_text(as_html(run_of(program.path.read_text(encoding="utf-8"), program.path.name)), encoding="utf-8")
    taken = [_taken(chromium, file, width, scheme) for scheme in SCHEMES for width in WIDTHS]
    blank = chromium.new_page()  # a page of its own: the report's policy allows no picture from outside
    sheet = base64.b64decode(blank.evaluate(SHEET, taken))
    kept = KEPT / f"{program.example}-{program.name}.jpg"
    if request.config.getoption("--bless"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(sheet)
    mean, most = apart(blank, sheet, kept.read_bytes())
    blank.close()
    assert mean < 0.02, f"the page has changed (mean {mean:.3f}): look at it, then `make bless`"
    assert most < 0.5, f"a part of the page has changed ({most:.2f}): look at it, then `make bless`"


def _taken(chromium: Any, file: Path, width: int, scheme: str) -> str:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    taken = page.screenshot()
    page.close()
    return base64.b64encode(taken).decode()
