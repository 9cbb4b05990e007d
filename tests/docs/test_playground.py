"""The playground: what it answers, and the built page in a real browser with Python inside."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import tool
from tests.render.chromium import browser

from afterward.integrations.playground import look

ROOT = Path(__file__).parents[2]
CARRIED = """\
for x, y in loader:
    out, hidden = model(x, hidden)
    loss = criterion(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def _answer(text: str) -> dict[str, str]:
    return json.loads(look(text))


def test_a_pasted_loop_gets_its_finding_and_its_picture() -> None:
    answer = _answer(CARRIED)
    assert answer["kind"] == "findings"
    assert answer["summary"].startswith("AFT103")
    assert "<svg" in answer["html"]


def test_a_correct_loop_is_told_from_one_that_was_not_analysed() -> None:
    right = CARRIED.replace("model(x, hidden)", "model(x, hidden.detach())")
    assert (_answer(right)["kind"], _answer("x = 1\n")["kind"]) == ("clean", "clean")
    assert _answer(right)["summary"] != _answer("x = 1\n")["summary"]


def test_a_pasted_message_gets_its_page() -> None:
    answer = _answer("RuntimeError: can't optimize a non-leaf Tensor")
    assert answer["kind"] == "message"
    assert "<h1>non-leaf-optimized</h1>" in answer["html"]


def test_a_pasted_traceback_gets_the_page_of_its_message() -> None:
    frame = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    loss.backward()\n'
    said = "element 0 of tensors does not require grad and does not have a grad_fn"
    answer = _answer(f"{frame}RuntimeError: {said}")
    assert answer["kind"] == "message"
    assert "<h1>loss-without-graph</h1>" in answer["html"]


def test_what_is_no_python_is_one_line() -> None:
    answer = _answer("(((((((")
    assert answer["kind"] in ("unreadable", "clean")
    assert "\n" not in answer["summary"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page and its files, without the rest of the site."""
    playground = tool.load("site_playground")
    folder = tmp_path_factory.mktemp("site")
    if not playground.build(folder):
        pytest.skip("no Pyodide: `make playground` brings it")
    page = (ROOT / "docs" / "playground.md").read_text(encoding="utf-8").partition("<div")[2]
    (folder / "index.html").write_text(
        f'<!DOCTYPE html><link rel="icon" href="data:,"><body><div{page}', encoding="utf-8"
    )
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

    def log_message(self, *_: object) -> None: ...


def test_python_answers_in_the_browser(served: str) -> None:
    with browser() as opened:
        page = opened.new_page()
        errors: list[str] = []
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("response", lambda got: errors.append(got.url) if got.status >= 400 else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(served)
        page.wait_for_selector("body[data-playground=findings]", timeout=180_000)
        page.fill("#playground-code", CARRIED)
        page.wait_for_function(
            "document.getElementById('playground-status').textContent.includes('AFT103')", timeout=60_000
        )
        assert "#code=" in page.url
        again = opened.new_page()  # the address alone brings the code along
        again.goto(page.url)
        again.wait_for_function("document.getElementById('playground-code').value.includes('criterion(out, y)')")
        again.close()
        assert page.frame_locator("#playground-result").locator("svg").count() > 0
        assert errors == []
