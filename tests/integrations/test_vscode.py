"""The extension in a real VS Code, where `make extension` could bring it. See docs/editors.md."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tool import load

pytest.importorskip("playwright")

HOME = Path(__file__).parents[2]
PACKED = HOME / "editors" / "vscode" / "afterward.vsix"


def test_a_finding_its_hover_its_fixes_and_the_page_are_seen() -> None:
    if load("drive_vscode").server() is None or shutil.which("chromium") is None or not PACKED.exists():
        pytest.skip("no VS Code here: `make extension` brings it from npm, and Chromium is needed")
    words = [sys.executable, str(HOME / "tools" / "drive_vscode.py"), str(PACKED)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AFT101" in done.stdout
