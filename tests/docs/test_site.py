"""The site builds without a warning, stands without a network, and knows every rule, command and example."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests import tool
from tests.render.chromium import browser

from afterward.cli import command_line
from afterward.gallery import examples
from afterward.rules import all_rules

pytest.importorskip("mkdocs")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_there_is_a_page_for_every_rule_command_and_example(site: Path) -> None:
    for rule in all_rules():
        assert rule.name in (site / "rules" / f"{rule.code}.html").read_text()
    for name in tool.load("site_hooks").commands():
        assert f"afterward {name}" in (site / "commands" / f"{name}.html").read_text()
    for example in examples():
        assert (site / "gallery" / f"{example.name}.html").exists()


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = re.compile(
        r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?(?:https?:)?//[^\">]*", re.IGNORECASE
    )
    for page in site.rglob("*.html"):
        assert fetched.findall(page.read_text()) == [], page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\"?(?:https?:)?//", sheet.read_text()), sheet.name


def test_the_search_works_from_disk(site: Path) -> None:
    complaints: list[str] = []
    with browser() as running:
        page = running.new_context(offline=True, viewport={"width": 1300, "height": 800}).new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.get_by_role("textbox", name="Search").fill("state-carried-over")
        found = page.locator(".md-search-result__link").first
        found.wait_for()
        found.click()
        page.wait_for_url("**/rules/AFT103.html*")
    assert complaints == []


def test_the_options_of_a_command_are_those_that_it_takes() -> None:
    hooks = tool.load("site_hooks")
    for name, parser in hooks.commands().items():
        page = hooks.command_page(name, parser)
        for action in parser._actions:
            assert all(f"`{option}" in page or f", {option}" in page for option in action.option_strings)


def test_the_examples_of_a_command_are_understood() -> None:
    for parser in tool.load("site_hooks").commands().values():
        for line in parser.examples:
            if line.startswith("afterward "):
                command_line().parse_args(shlex.split(line, comments=True)[1:])


def test_the_table_is_what_the_examples_say() -> None:
    pages = tool.load("gallery_pages")
    assert (ROOT / "docs" / "what-happens.md").read_text() == pages.table(), "run `make gallery`"


def test_every_finding_of_the_gallery_has_its_picture() -> None:
    pages = tool.load("gallery_pages")
    for example in examples():
        for program in example.programs:
            if program.finds:
                assert pages.picture_of(program).exists(), program.full_name
        assert any(pages.picture_of(program).exists() for program in example.programs), example.name
