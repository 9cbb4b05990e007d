"""What a tried program writes is taken back: changed files restored, new ones removed, however the process ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from afterward.tasks.undo import undo

PROGRAM = """
import os, sys, shutil
from pathlib import Path
from afterward.tasks.undo import Recorder
Recorder(Path(sys.argv[1]) / "undo").install()
{body}
"""


def _tried(tmp_path: Path, body: str) -> list[str]:
    record = tmp_path / "space" / "undo"
    record.mkdir(parents=True)
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=body), str(tmp_path / "space")], cwd=work, check=False, timeout=60
    )
    return undo(record)


@pytest.mark.parametrize(
    "body",
    [
        "open('kept.txt', 'w').write('lost')",
        "open('kept.txt', 'a').write('more')",
        "os.remove('kept.txt')",
        "os.rename('kept.txt', 'moved.txt')",
        "open('new.txt', 'w').write('x'); os.replace('new.txt', 'kept.txt')",
        "Path('kept.txt').write_text('lost'); os.kill(os.getpid(), 9)",
        "os.makedirs('a/b'); open('a/b/c', 'w').write('x')",
        "shutil.rmtree('folder')",
        "os.truncate('kept.txt', 1)",
        "shutil.copy('kept.txt', 'copy.txt')",
        "os.fork() or open('kept.txt', 'w').write('by a worker'); import time; time.sleep(0.2)",
    ],
)
def test_everything_is_put_back(tmp_path: Path, body: str) -> None:
    work = tmp_path / "work"
    (work / "folder").mkdir(parents=True)
    (work / "kept.txt").write_text("as it was")
    (work / "folder" / "inner.txt").write_text("inner")
    assert _tried(tmp_path, body) == []
    assert {str(p.relative_to(work)) for p in work.rglob("*")} == {"kept.txt", "folder", "folder/inner.txt"}
    assert (work / "kept.txt").read_text() == "as it was"
    assert (work / "folder" / "inner.txt").read_text() == "inner"


def test_what_torch_saves_is_put_back(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "work").mkdir()
    body = """
import torch
from afterward.observe import compat
recorder = Recorder(Path(sys.argv[1]) / "undo")
compat.announce_files(recorder.before_write)
torch.save({"a": torch.ones(3)}, "model.pt")
assert os.path.exists("model.pt")
"""
    assert _tried(tmp_path, body) == []
    assert list((tmp_path / "work").iterdir()) == []
