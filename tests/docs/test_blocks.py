"""Every block on every page is run: Python is executed, commands are called and their output compared.

- A `python` block is executed; the blocks of a page share one scope, as a reader would type them. What a page takes for
  granted (`train()`, say) is defined in `scaffold/PAGE.py`.
- A `python title="FILE"` block is a file: it is written to a folder in which the page's commands run.
- A `console` block is called, line by line after `$ `, and must print what stands below it; a line `...` stands for any
  number of lines, and ` ...` at a line's end for the rest of it.
- Any other `afterward ...` on a page (indented, or in a `sh` block) must at least be a command line that we understand.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import warm

from afterward.cli import command_line
from afterward.gallery import examples

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
ELSEWHERE = {"life-of-a-graph.md"}  # whose blocks tests/model/life/test_page.py runs
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"^````.*?^````$", re.MULTILINE | re.DOTALL)  # a block that shows blocks


@dataclass(frozen=True)
class Block:
    kind: str
    title: str
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = QUOTED.sub(lambda quoted: "\n" * quoted[0].count("\n"), page.read_text())
    return [Block(m[1], m[2] or "", m[3], text[: m.start()].count("\n") + 2) for m in BLOCK.finditer(text)]


def _pages_with(*kinds: str) -> list[object]:
    named = [
        page for page in PAGES if any(block.kind in kinds for block in blocks(page)) and page.name not in ELSEWHERE
    ]
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in named]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", _pages_with("python"))
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "page"}
    scaffold = Path(__file__).parent / "scaffold" / f"{page.stem}.py"
    if scaffold.exists():
        exec(compile(scaffold.read_text(), str(scaffold), "exec"), scope)
    for block in blocks(page):
        if block.kind == "python" and not block.title:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), scope)


@pytest.mark.parametrize("page", _pages_with("console"))
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    bless = request.config.getoption("--bless")
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).write_text(block.code)
    for block in blocks(page):
        if block.kind == "console":
            for command, shown in _calls(block.code):
                printed = _call(command, tmp_path)
                if bless:
                    page.write_text(
                        page.read_text().replace(f"$ {command}\n{shown}", f"$ {command}\n{_now(printed, shown)}")
                    )
                else:
                    _compare(printed, shown, f"{page.name}:{block.line}: {command}")


def _calls(code: str) -> list[tuple[str, str]]:
    _, *calls = re.split(r"^\$ ", code, flags=re.MULTILINE)
    pairs = [call.split("\n", 1) for call in calls]
    return [(command, shown[0] if shown else "") for command, *shown in pairs]


def _call(command: str, folder: Path) -> str:
    name, *words = shlex.split(command, comments=True)
    assert name == "afterward", f"only our own commands are called: {command}"
    done = warm.afterward(*words, cwd=folder)
    return done.stdout + done.stderr


def _compare(printed: str, shown: str, where: str) -> None:
    assert _agrees(printed, shown), f"{where} prints:\n{printed}"


def _agrees(printed: str, shown: str) -> bool:
    lines = [line.rstrip() for line in shown.rstrip().splitlines()]
    parts = [
        r"(?:.*\n)*"
        if line == "..."
        else re.escape(line.removesuffix(" ...")) + ".*" * line.endswith(" ...") + r"\s*\n"
        for line in lines
    ]
    return re.fullmatch("".join(parts) + r"\s*", printed.rstrip() + "\n") is not None


def _now(printed: str, shown: str) -> str:
    """What a page shows, with the lines that are printed now; what it leaves out, it still leaves out."""
    if _agrees(printed, shown):
        return shown
    short = [line for line in shown.splitlines() if line.endswith(" ...")]
    lines = [next((one for one in short if line.startswith(one[:-4])), line) for line in printed.rstrip().splitlines()]
    parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    result = []
    for number, part in enumerate(parts):
        before, last = part.splitlines(), number == len(parts) - 1
        if number and before:
            begins = [line for line in lines if line[:6] == before[0][:6]]
            lines = lines[lines.index(begins[0]) :] if begins else lines
        result.append(
            "".join(f"{line.rstrip()}\n" for line in (lines if last else lines[: len(before)])) if before else ""
        )
        lines = lines if last else lines[len(before) :]
    return "...\n".join(result)


def _commands_mentioned() -> list[object]:
    found = []
    for page in PAGES:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            match = re.match(r"(?: {4})?(?:\$ )?(?:- run: )?(afterward [a-z].*)$", line)
            if match and not line.startswith("afterward "):
                found.append(pytest.param(match[1], id=f"{page.name}:{number}"))
        for block in blocks(page):
            if block.kind in ("sh", "bash", "shell"):
                for line in block.code.splitlines():
                    if line.removeprefix("$ ").startswith("afterward "):
                        found.append(pytest.param(line.removeprefix("$ "), id=f"{page.name}:{block.line}"))
    return found


@pytest.mark.parametrize("command", _commands_mentioned())
def test_a_command_that_is_mentioned_is_understood(command: str) -> None:
    words = shlex.split(command, comments=True)[1:]
    if not {"|", ">", "2>&1", "&&"} & set(words):
        command_line().parse_args(words)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_a_page_of_the_gallery_shows_the_programs_that_ship(example) -> None:
    shown = {block.title: block.code for block in blocks(DOCS / "gallery" / f"{example.name}.md") if block.title}
    for program in example.programs:
        assert shown[f"{program.full_name}.py"] == program.path.read_text()
