"""`afterward fix` as a user meets it: real processes, exit status, what is printed, what is written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BUGGY = """import sys
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
hidden = torch.zeros(1, 1)
for x in torch.randn(4, 1, 3):
    hidden = torch.tanh(net(x) + hidden)
    loss = hidden.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    open("log.txt", "a").write("step ")
"""


def fix(folder: Path, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "afterward", "fix", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        **{"stdin": subprocess.DEVNULL, **options},  # type: ignore[call-overload]
    )


def test_a_patch_is_shown_proven_and_written_only_when_asked(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(BUGGY)
    shown = fix(tmp_path, "train.py")
    assert shown.returncode == 0, shown.stderr
    assert "hidden.detach()" in shown.stderr
    assert "proven: " in shown.stderr
    assert "also tried:" in shown.stderr
    assert "retain_graph=True" in shown.stderr
    assert program.read_text() == BUGGY
    assert (tmp_path / "log.txt").read_text() == "step ", "only the user's own run leaves its files"

    written = fix(tmp_path, "--write", "--format", "json", "--out", "report.json", "train.py")
    assert written.returncode == 0, written.stderr
    assert "changed train.py" in written.stderr
    assert "hidden.detach()" in program.read_text()
    remedy = json.loads((tmp_path / "report.json").read_text())["findings"][0]["remedies"][0]
    assert remedy["kind"] == "detach_state"
    assert remedy["proof"]["status"] == "proven"
    assert remedy["patch"].startswith("--- a/train.py\n+++ b/train.py\n")
    assert subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True).returncode == 0

    again = fix(tmp_path, "--write", "train.py")
    assert again.returncode == 0
    assert "nothing to fix" in again.stderr


ADVICE = """\
import torch

torch.manual_seed(0)
make, judge = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)
for x in torch.randn(8, 4, 8):
    fake = (make(make(make(x).tanh()).tanh())).detach()
    optimizer.zero_grad()
    judge(fake).mean().backward()
    optimizer.step()
"""


def test_advice_alone_is_nothing_to_fix(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ADVICE)
    done = fix(tmp_path, "--format", "json", "--out", "report.json", "train.py")
    found = json.loads((tmp_path / "report.json").read_text())["findings"]
    assert done.returncode == 0, done.stderr
    assert [each["severity"] for each in found] == ["info"]


def test_what_can_not_be_fixed_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("import nothing_of_this_name\n")
    done = fix(tmp_path, "other.py")
    assert done.returncode == 2
    assert "fails for another reason: ModuleNotFoundError" in done.stderr.splitlines()[-1]
    missing = fix(tmp_path, "not_there.py")
    assert missing.returncode == 2
    assert "not_there.py" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_a_read_only_file_is_left_whole(tmp_path: Path) -> None:
    from afterward.tasks.files import FileChanged, FileNotWritten, read, write

    file = tmp_path / "train.py"
    file.write_bytes(b"x = 1\r\n")
    original = {str(file): read(str(file))}
    write(original, {str(file): "x = 2\r\n"})
    assert file.read_bytes() == b"x = 2\r\n"
    with pytest.raises(FileChanged, match="has changed"):
        write(original, {str(file): "x = 3\r\n"})
    original = {str(file): read(str(file))}
    if os.geteuid() != 0:
        file.chmod(0o444)
        with pytest.raises(FileNotWritten, match="read-only"):
            write(original, {str(file): "x = 3\r\n"})
    assert file.read_bytes() == b"x = 2\r\n"
    assert [p.name for p in tmp_path.iterdir()] == ["train.py"]


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from afterward.tasks import files

    first, second = tmp_path / "a.py", tmp_path / "b.py"
    first.write_text("a = 1\n")
    second.write_text("b = 1\n")
    originals = {str(p): files.read(str(p)) for p in (first, second)}
    synced: list[int] = []

    def full(number: int) -> None:
        synced.append(number)
        if len(synced) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(files.FileNotWritten, match="No space left"):
        files.write(originals, {str(first): "a = 2\n", str(second): "b = 2\n"})
    assert (first.read_text(), second.read_text()) == ("a = 1\n", "b = 1\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.py", "b.py"]


def test_piped_input_is_there_for_every_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BUGGY.replace("torch.randn(4, 1, 3)", "torch.randn(int(input()), 1, 3)"))
    (tmp_path / "input.txt").write_text("4\n")
    with (tmp_path / "input.txt").open() as given:
        done = fix(tmp_path, "train.py", stdin=given)
    assert done.returncode == 0, done.stderr
    assert "proven: " in done.stderr


def test_a_notebook_is_fixed_cell_by_cell(tmp_path: Path) -> None:
    imports = "%matplotlib inline\nimport torch\n!true\n"
    setup, loop = BUGGY.split("import torch\n")[1].split("for x in")
    cells = [("code", imports + setup), ("markdown", "# Training"), ("code", "for x in" + loop)]
    book = {
        "cells": [
            {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
            | ({"outputs": [], "execution_count": None} if kind == "code" else {})
            for kind, text in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    file = tmp_path / "train.ipynb"
    file.write_text(json.dumps(book, indent=1) + "\n")
    done = fix(tmp_path, "--write", "train.ipynb")
    assert done.returncode == 0, done.stderr
    after = json.loads(file.read_text())
    changed = [n for n, (old, new) in enumerate(zip(book["cells"], after["cells"], strict=True)) if old != new]
    assert changed == [2], "the cell with the loop, and no other"
    assert any("hidden.detach()" in line for line in after["cells"][2]["source"])


def test_check_writes_only_what_keeps_the_gradients(tmp_path: Path) -> None:
    two = """import torch
body, a, b = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1), torch.nn.Linear(8, 1)
opt = torch.optim.SGD([*body.parameters(), *a.parameters(), *b.parameters()], lr=0.1)
for x in torch.randn(3, 16, 4):
    z = torch.tanh(body(x))
    one, two = a(z).pow(2).mean(), b(z).pow(2).mean()
    opt.zero_grad()
    one.backward()
    two.backward()
    opt.step()
"""
    (tmp_path / "two.py").write_text(two)
    (tmp_path / "state.py").write_text(BUGGY)

    def check(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "afterward", "check", "--no-cache", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    assert check("--fix", ".").returncode == 1
    assert "    (one + two).backward()\n" in (tmp_path / "two.py").read_text()
    assert (tmp_path / "state.py").read_text() == BUGGY, "a cut is for `afterward fix`, which runs it"
    assert check("two.py").returncode == 0


def test_an_interrupt_leaves_everything_as_it_was(tmp_path: Path) -> None:
    program, mark = tmp_path / "train.py", tmp_path / "mark.txt"
    waiting = "    opt.step()\n    open('mark.txt', 'a').write('x'); __import__('time').sleep(0.7)\n"
    before = BUGGY.replace("    opt.step()\n", waiting)
    program.write_text(before)
    process = subprocess.Popen(
        [sys.executable, "-m", "afterward", "fix", "--write", "train.py"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not _is_trying(process.pid):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1] == "afterward: stopped; nothing was written"
    assert program.read_text() == before
    assert mark.read_text() == "x", "what the trial had written was in its own view"


def _is_trying(pid: int) -> bool:
    """A trial has processes below the one that the server forked; the run before it has not."""
    return len(_below(pid)) >= 4


def _below(pid: int) -> list[int]:
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [*children, *(grandchild for child in children for grandchild in _below(child))]


def test_a_read_only_folder_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from afterward.tasks import files, journal

    plain = journal._write_through

    def refuse(path: Path, data: bytes) -> None:
        if path.parent == tmp_path:
            raise PermissionError(13, "Permission denied", str(path))
        plain(path, data)

    file = tmp_path / "train.py"
    file.write_text("x = 1\n")
    original = {str(file): files.read(str(file))}
    monkeypatch.setattr(journal, "_write_through", refuse)
    with pytest.raises(files.FileNotWritten, match="Permission denied; nothing was written"):
        files.write(original, {str(file): "x = 2\n"})
    assert file.read_text() == "x = 1\n"


def test_a_terminal_is_asked_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BUGGY)
    shown, status = on_terminal(tmp_path, b"y\n", "train.py")
    assert status == 0, shown
    assert "write this change to train.py? [y/N]" in shown
    assert "hidden.detach()" in (tmp_path / "train.py").read_text()


def test_a_program_that_reads_from_the_terminal_is_not_tried_further(tmp_path: Path) -> None:
    asking = BUGGY.replace("torch.randn(4, 1, 3)", "torch.randn(int(input('steps? ')), 1, 3)")
    (tmp_path / "train.py").write_text(asking)
    shown, status = on_terminal(tmp_path, b"4\n", "train.py")
    assert status == 1, shown
    assert "reads from the terminal, which a test run does not have: pipe its input in" in " ".join(shown.split())
    assert (tmp_path / "train.py").read_text() == asking


def on_terminal(folder: Path, typed: bytes, *words: str) -> tuple[str, int]:
    """`fix` with a terminal for its input and its errors: what is shown there, and the exit status."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "afterward", "fix", *words],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "200"},
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return shown.decode(errors="replace"), process.wait(60)
