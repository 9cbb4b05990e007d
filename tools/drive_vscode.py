"""Drive the extension in a real VS Code: code-server (npm package `code-server`, Node 24) in headless Chromium.

    python tools/drive_vscode.py CODE_SERVER editors/vscode/afterward.vsix [PICTURE.png]

Opens a faulty program, and says what is seen: the problem with its related places, the hover, the quick fixes, the
first one applied, and the page of the watched run beside the program. Ends with 1 where any of it is missing.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

FAULTY = Path(__file__).parents[1] / "src/afterward/gallery/same-loss-twice/wrong.py"
SETTINGS = """{"workbench.startupEditor": "none", "chat.disableAIFeatures": true, "window.autoDetectColorScheme": false,
"afterward.command": ["%s"]}"""


def main(server: str, extension: str, picture: str | None = None) -> int:
    with tempfile.TemporaryDirectory() as folder:
        user, program = Path(folder, "user"), Path(folder, "project", "train.py")
        (user / "User").mkdir(parents=True)
        program.parent.mkdir()
        program.write_text(FAULTY.read_text(encoding="utf-8"), encoding="utf-8")
        command = shutil.which("afterward", path=str(Path(sys.executable).parent)) or "afterward"
        (user / "User" / "settings.json").write_text(SETTINGS % command, encoding="utf-8")
        options = [
            "--user-data-dir",
            str(user),
            "--extensions-dir",
            f"{folder}/extensions",
            "--config",
            f"{folder}/c.yaml",
        ]
        subprocess.run([server, *options, "--install-extension", extension], check=True)
        address = f"127.0.0.1:{_free_port()}"
        words = [server, *options, "--auth", "none", "--disable-workspace-trust", "--bind-addr", address]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            try:
                return _look(f"http://{address}/", program, picture)
            finally:
                running.terminate()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _look(address: str, program: Path, picture: str | None) -> int:
    _wait_for(address)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"{address}?folder={program.parent}")
        page.get_by_text(program.name, exact=True).first.dblclick(timeout=60_000)
        page.wait_for_selector(".squiggly-error", timeout=60_000)
        page.keyboard.press("Control+Shift+M")
        seen = {"problems": _texts(page, ".markers-panel .monaco-list-row")}
        page.keyboard.press("Control+1")
        page.keyboard.press("F8")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+k")
        page.keyboard.press("Control+i")
        seen["hover"] = _texts(page, ".monaco-hover:visible")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+.")
        seen["quick fixes"] = _texts(page, ".action-widget .monaco-list-row")
        page.keyboard.press("Enter")
        page.wait_for_selector(".squiggly-error", state="detached", timeout=20_000)
        page.keyboard.press("Control+z")
        page.keyboard.press("F1")
        page.keyboard.type("afterward: Watch This File", delay=20)
        page.wait_for_timeout(1500)
        page.keyboard.press("Enter")
        seen["page"] = _page_beside(page)
        if picture is not None:
            page.screenshot(path=picture)
        browser.close()
    for name, texts in seen.items():
        print(f"{name}:", *(f"  {' | '.join(text.splitlines())[:160]}" for text in texts), sep="\n")
    return 0 if all(seen.values()) else 1


def _texts(page: Any, selector: str) -> list[str]:
    """What these parts say, when there are any."""
    page.wait_for_timeout(2500)
    return [text for text in page.locator(selector).all_inner_texts() if text.strip()]


def _page_beside(page: Any, seconds: int = 60) -> list[str]:
    for _ in range(seconds):
        for frame in page.frames:
            found = frame.locator("article h1")
            if found.count():
                return [str(found.first.inner_text())]
        page.wait_for_timeout(1000)
    return []


def _wait_for(address: str, seconds: int = 60) -> None:
    for _ in range(seconds):
        try:
            urllib.request.urlopen(address, timeout=2)
            return
        except OSError:
            time.sleep(1)
    raise SystemExit(f"nothing answers at {address}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
