"""`afterward run --live`: a view on a terminal, plain lines elsewhere, and the program's own output untouched."""

from __future__ import annotations

import functools
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from fcntl import ioctl
from pathlib import Path

import pytest
from tests import warm

PROGRAM = """\
import sys, threading, time
import torch
torch.manual_seed(0)
layer, losses = torch.nn.Linear(3, 1), []
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
print("begins", flush=True)
for step in range(60):
    optimizer.zero_grad()
    loss = layer(torch.randn(4, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss)
    time.sleep(0.03)
print("ends", layer.weight.sum().item(), threading.active_count(), sys.stdout.isatty(), flush=True)
"""


class _Terminal:
    """A pseudo terminal of 24 rows and 80 columns whose output is gathered as it comes."""

    def __init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.text = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self.ours, 4096)
            except OSError:
                return
            if not part:
                return
            self.text += part

    def close(self) -> str:
        os.close(self.theirs)
        self._reader.join(10)
        os.close(self.ours)
        return self.text.decode()


def _start(folder: Path, *words: str, **options) -> subprocess.Popen[bytes]:
    (folder / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "afterward", "run", "--live", *words, "train.py"]
    environment = {**os.environ, "TERM": "xterm-256color", "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    # A test run in the background of a shell ignores interrupts, and its children would too.
    default = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(command, cwd=folder, env=environment, preexec_fn=default, **options)


def test_the_view_keeps_to_its_rows_and_gives_them_back(tmp_path: Path) -> None:
    plain = warm.python("train.py", cwd=_with_program(tmp_path))
    terminal = _Terminal()
    running = _start(tmp_path, stdout=subprocess.PIPE, stderr=terminal.theirs)
    stdout, _ = running.communicate(timeout=180)
    text = terminal.close()
    assert running.returncode == 0
    assert stdout == plain.stdout  # the same bits, no thread of ours, and the program's own stream
    assert "\x1b[1;17r" in text  # seven of 24 rows no longer scroll
    assert "passes" in text
    assert "one step's graph  " in text
    assert "its saved values  " in text
    view, report = text.rsplit("\x1b[r", 1)
    assert "no problems so far" in view
    assert "warning[AFT301]" in report.replace("\x1b[1;33m", "").replace("\x1b[0m", "")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_in_a_real_terminal_nothing_is_overwritten_and_the_figures_agree(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    ours = f"{shlex.quote(sys.executable)} -m afterward run --live train.py"
    shell = f"for i in 1 2 3 4 5; do echo before $i; done; {ours}; echo after; sleep 60"
    tmux = ["tmux", "-L", f"live{os.getpid()}", "-f", "/dev/null"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    start = [*tmux, "new-session", "-d", "-x", "80", "-y", "24", "-c", str(tmp_path), shell]
    subprocess.run(start, check=True, env=environment)
    view, screen, deadline = "", "", time.monotonic() + 120
    try:
        while "after\n" not in screen and time.monotonic() < deadline:
            time.sleep(0.1)
            screen = subprocess.run([*tmux, "capture-pane", "-p", "-S", "-99"], capture_output=True, text=True).stdout
            view = screen if "holds the graphs of" in screen and "For more:" not in screen else view
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
    assert screen.startswith("before 1\nbefore 2\nbefore 3\nbefore 4\nbefore 5\nbegins\nends ")
    assert view.startswith("before 1\nbefore 2\nbefore 3\nbefore 4\nbefore 5\nbegins\n")
    assert "-- afterward 0:" in view
    steps, nodes = re.findall(r"holds the graphs of (\d+) steps \((\d+) nodes\)", view)[0]
    assert int(nodes) == 4 * int(steps)
    assert re.search(r"one step's graph .* now 4 nodes", view)
    assert "-- afterward" not in screen


def test_an_interrupt_ends_the_program_and_the_view(tmp_path: Path) -> None:
    _with_program(tmp_path)
    terminal = _Terminal()
    running = _start(tmp_path, stdout=subprocess.PIPE, stderr=terminal.theirs)
    assert running.stdout is not None
    running.stdout.readline()
    deadline = time.monotonic() + 60
    while b"passes" not in terminal.text and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    text = terminal.close()
    assert running.returncode in (130, -signal.SIGINT)
    assert text.rindex("\x1b[r") > text.rindex("\x1b[1;17r")
    assert "KeyboardInterrupt" in text


def test_plain_lines_where_there_is_no_terminal(tmp_path: Path) -> None:
    running = _start(_with_program(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stdout, stderr = running.communicate(timeout=180)
    assert stdout.startswith(b"begins\nends ")
    text = stderr.decode()
    assert "\x1b" not in text
    assert "60 backward passes, 60 optimizer steps; one step's graph: 4 nodes" in text


def _with_program(folder: Path) -> Path:
    (folder / "train.py").write_text(PROGRAM)
    return folder
