"""Drive the extension in a real VS Code: its server (npm package `code-server`, with the Node it needs) in Chromium.

    python tools/drive_vscode.py editors/vscode/afterward.vsix [PICTURE.png]

Opens a faulty program, and says what is seen: the problem with its related places, the hover, the quick fixes, the
first one applied, and the page of the watched run beside the program. Ends with 1 where any of it is missing, or where
the browser's console has an error that names us. `make extension` brings the server; CODE_SERVER names another.
"""

from __future__ import annotations

import os
import shlex
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
HOME = Path(__file__).resolve().parents[1]
MODULES = Path(__file__).parents[1] / "editors/vscode/server/node_modules"
SETTINGS = """{"workbench.startupEditor": "none", "chat.disableAIFeatures": true, "window.autoDetectColorScheme": false,
"afterward.command": ["%s"]}"""


def server() -> list[str] | None:
    """The command that starts VS Code's server, where there is one."""
    if given := os.environ.get("CODE_SERVER"):
        return shlex.split(given)
    node, entry = MODULES / "node/bin/node", MODULES / "code-server/out/node/entry.js"
    ready = node.exists() and (MODULES / "code-server/lib/vscode/node_modules").is_dir()
    return [str(node), str(entry)] if ready else None


def main(extension: str, picture: str | None = None) -> int:
    code = server()
    if code is None:
        raise SystemExit("no VS Code here: `make extension` brings it where npm is")
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
        subprocess.run([*code, *options, "--install-extension", extension], check=True, capture_output=True)
        address = f"127.0.0.1:{_free_port()}"
        words = [*code, *options, "--auth", "none", "--disable-workspace-trust", "--bind-addr", address]
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
        errors: list[str] = []
        page.on("console", lambda one: errors.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda one: errors.append(str(one)))
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
    # VS Code has some of its own: it finds no marketplace, and names the folder in which its server lies.
    ours = [error for error in errors if "afterward" in error.replace(str(HOME), "")]
    print("errors of ours:", *ours)
    return 0 if all(seen.values()) and not ours else 1


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
