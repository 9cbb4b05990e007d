"""The list of messages is that of the installed torch: what a new version adds is noticed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parent.parent.parent


def _tool():
    spec = importlib.util.spec_from_file_location("list_messages", ROOT / "tools" / "list_messages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_message_of_this_torch_is_listed() -> None:
    """The library of the Python side and the Python files; `tools/list_messages.py --check` reads all, for longer."""
    tool = _tool()
    page = tool.PAGE.read_text(encoding="utf-8")
    if f"torch {torch.__version__.partition('+')[0]}:" not in page:
        pytest.skip("the list is of another torch")
    found = tool.about_graphs(Path(torch.__file__).parent, ("libtorch_python.so",))
    assert len(found) > 100
    known = tool.listed(page)
    assert [text for text in found if tool._cell(text) not in known] == []
