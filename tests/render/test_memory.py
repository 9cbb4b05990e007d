"""The account as a table: widths, what is left out, and the allocator's figure beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterward.model.memory import Allocator, LineBytes, Memory, PassBytes
from afterward.model.site import Site
from afterward.render.memory import as_table


def _memory(file: Path, grown: int) -> Memory:
    lines = tuple(LineBytes(Site(str(file), line, line), 1000 * (20 - line), 1) for line in range(1, 16))
    return Memory(
        bytes=sum(row.bytes for row in lines),
        nodes=40,
        site=Site(str(file), 16, 16),
        step=3,
        lines=lines,
        passes=(PassBytes(Site(str(file), 16, 16), "backward", 7, 2, 5000, 4000),),
        allocator=Allocator("cuda:0", 1 << 20, (1 << 20) + grown, 1 << 22),
    )


def test_long_tables_are_summed_up_and_keep_their_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.py"
    file.write_text("".join(f"value = layer(value)  # {'long ' * 30}{n}\n" for n in range(16)))
    text = as_table(_memory(file, 200_000))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "3 more lines" in text
    assert "train.py:16  7 calls; 2 of them keeping up to 3.9 KB" in text
    assert "allocator (cuda:0): 195.3 KB more than after the last step; saved values: 90 %" in text


def test_no_share_of_what_was_held_before(tmp_path: Path) -> None:
    text = as_table(_memory(tmp_path / "gone.py", 512))
    assert "%" not in text[text.index("allocator") :]
    assert "512 B more than after the last step, which held a graph" in text
