"""Opens pages in a real browser, where there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def binary() -> str:
    """The browser; the test is skipped where none is installed."""
    given = os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)
    if given is None:
        pytest.skip("no Chromium here: `apt-get install chromium`, or set CHROMIUM to one")
    return given


@contextmanager
def browser() -> Iterator[Any]:
    path = binary()
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[test]'")
    with sync.sync_playwright() as started:
        # The sandbox needs rights that a container rarely has; the pages are our own.
        running = started.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield running
        finally:
            running.close()
