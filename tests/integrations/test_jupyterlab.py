"""A notebook in JupyterLab, in a real browser: the box with its life line stands under the cell that failed."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.render.chromium import browser

pytest.importorskip("jupyterlab", reason="JupyterLab is not installed: pip install jupyterlab")
pytest.importorskip("ipykernel")

CELLS = (
    "%load_ext afterward",
    "import torch\nmodel = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))\n"
    "loss = model(torch.randn(16, 4)).pow(2).mean()",
    "loss.backward()",
    "loss.backward()",
)
BOX = ".jp-OutputArea-output:has-text('AFT101') img"
# Where the picture ends, and the cell's output with it; whether it was drawn at all.
LOOK = """image => {
  const output = image.parentElement;
  const width = image.getBoundingClientRect().width;
  return {drawn: image.naturalWidth, width, scrolls: output.scrollWidth > output.clientWidth + 1};
}"""


def _notebook() -> str:
    cells = [
        {"cell_type": "code", "id": f"c{n}", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
        for n, text in enumerate(CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


@contextmanager
def _lab(folder: Path) -> Iterator[str]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--IdentityProvider.token=",
        f"--notebook-dir={folder}",
    ]
    words = [sys.executable, "-m", "jupyterlab", *options, "--LabApp.extension_manager=readonly"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            _wait_for(f"http://127.0.0.1:{port}/api")
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()


def _wait_for(address: str, seconds: int = 60) -> None:
    for _ in range(seconds):
        try:
            urllib.request.urlopen(address, timeout=2).close()
        except OSError:
            time.sleep(1)
        else:
            return
    pytest.fail(f"nothing answers at {address}")


def test_the_box_stands_under_the_failing_cell(tmp_path: Path) -> None:
    (tmp_path / "train.ipynb").write_text(_notebook())
    with browser() as chromium, _lab(tmp_path) as address:
        page = chromium.new_page(viewport={"width": 1200, "height": 900})
        errors: list[str] = []
        page.on("console", lambda one: errors.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda one: errors.append(str(one)))
        page.goto(f"{address}/lab/tree/train.ipynb?reset")
        _run_all(page)
        page.wait_for_selector(BOX, timeout=120_000)
        seen = page.locator(BOX).first.evaluate(LOOK)
        cell = page.locator(".jp-Cell").nth(len(CELLS) - 1).inner_text()
        first = page.locator(".jp-Cell").first.locator(".jp-OutputArea-output").all_inner_texts()
        page.locator(BOX).first.scroll_into_view_if_needed()
        page.screenshot(path=str(tmp_path / "lab.png"))  # for a person to look at
    assert [error for error in errors if "svg" in error or "afterward" in error] == []
    assert seen["drawn"] > 0
    assert seen["width"] > 400
    assert not seen["scrolls"]
    assert cell.index("Trying to backward") < cell.index("AFT101")
    assert len("\n".join(first).strip().splitlines()) == 1  # what `%load_ext` says


def _run_all(page: Any) -> None:
    page.locator(".jp-Cell .cm-content").first.click(timeout=90_000)
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", timeout=90_000)
    for _ in CELLS:
        page.keyboard.press("Shift+Enter")
