"""The list of messages is that of the installed torch: what a new version adds is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import tool

from afterward import messages

torch = pytest.importorskip("torch")


def test_every_message_of_this_torch_is_listed() -> None:
    """The library of the Python side and the Python files; `tools/list_messages.py --check` reads all, for longer."""
    lister = tool.load("list_messages")
    page = lister.PAGE.read_text(encoding="utf-8")
    if f"torch {torch.__version__.partition('+')[0]}:" not in page:
        pytest.skip("the list is of another torch")
    if torch.version.cuda:
        pytest.skip("the list is of a build without CUDA, whose library says less")
    found = lister.about_graphs(Path(torch.__file__).parent, ("libtorch_python.so",))
    assert len(found) > 100
    known = lister.listed(page)
    assert [text for text in found if lister._cell(text) not in known] == []


def test_what_is_reported_has_a_page() -> None:
    lister = tool.load("list_messages")
    assert set(lister.REPORTED) <= {page.name for page in messages.all_pages()}
    page = lister.PAGE.read_text(encoding="utf-8")
    assert all(line in page.splitlines() for line in lister.reported())


def test_every_text_has_a_page_or_a_reason() -> None:
    lister = tool.load("list_messages")
    assert f"| {lister.UNEXPLAINED} |" not in lister.PAGE.read_text(encoding="utf-8")
    assert {name for _, name in lister.PARTS} <= {page.name for page in messages.all_pages()}
