"""Files that are not what they seem: one clear line each, and the rest is still checked."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.cli.test_check import CLEAN, FAULTY, check

BAD = {
    "syntax.py": (b"def broken(:\n    pass\n", "syntax.py:1: not valid Python"),
    "python2.py": (b'print "hello"\n', "python2.py:1: not valid Python"),
    "nulls.py": (b"x = 1\0\0\n", "nulls.py: not Python source: it has null bytes"),
    "latin.py": ("name = 'é'\n".encode("latin-1"), "latin.py: its encoding cannot be read"),
    "coding.py": (b"# -*- coding: no-such-coding -*-\n", "coding.py: its encoding cannot be read"),
    "utf16.py": ("x = 1\n".encode("utf-16"), "utf16.py: not Python source: it has null bytes"),
    "large.py": (b"x = 1\n" * 1_800_000, "large.py: too large to check (10,800,000 bytes)"),
    "deep.py": (b"x = " + b"(" * 1000 + b"1" + b")" * 1000 + b"\n", "deep.py"),
    "book.ipynb": (b"{not json", "book.ipynb"),
}
if sys.version_info < (3, 13):  # later ones read it
    BAD["deep_operators.py"] = (b"x = " + b"-" * 5000 + b"1\n", "deep_operators.py")


def test_each_gets_one_line_and_the_rest_is_checked(tmp_path: Path) -> None:
    for name, (content, _) in BAD.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "train.py").write_text(FAULTY)
    os.symlink("loop_b.py", tmp_path / "loop_a.py")
    os.symlink("loop_a.py", tmp_path / "loop_b.py")
    os.symlink("nowhere.py", tmp_path / "dangling.py")
    (tmp_path / "folder").mkdir()
    os.symlink("..", tmp_path / "folder" / "up")
    (tmp_path / "is_folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    done = check(tmp_path, "--format", "concise", ".")
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    assert done.stdout.startswith("train.py:6:1: AFT101 ")
    for name, (_, expected) in BAD.items():
        (line,) = [line for line in lines if name in line]
        assert expected in line
    for name, why in {"loop_a.py": "symbolic links", "dangling.py": "No such file", "pipe.py": "regular"}.items():
        (line,) = [line for line in lines if line.startswith(f"afterward: {name}")]
        assert why in line
    assert len(lines) == len(BAD) + 5
    counts = f"Checked {len(BAD) + 5} files, 1 training loop, {len(BAD) + 4} not analysed (--show-gaps)."
    assert lines[-1].startswith(f"1 error in 1 file. {counts}")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text(CLEAN)
    (tmp_path / "secret.py").chmod(0)
    done = check(tmp_path, ".")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "afterward: secret.py: Permission denied")


@pytest.mark.parametrize("depth", [20, 90])
def test_deep_nesting_that_python_allows_is_interpreted(tmp_path: Path, depth: int) -> None:
    text = "import torch\n" + "".join(f"{' ' * n}for i{n} in range(3):\n" for n in range(depth // 5))
    text += " " * (depth // 5) + "pass\n" + "x = " + "(" * depth + "1" + ")" * depth + "\n" + FAULTY
    (tmp_path / "train.py").write_text(text)
    assert check(tmp_path, "--format", "concise", "train.py").stdout.count("AFT101") == 1


def test_a_program_without_end_is_given_up(tmp_path: Path) -> None:
    loops = "".join(f"{' ' * n}while True:\n" for n in range(8)) + " " * 8 + "step()\n"
    endless = "import torch\ndef step():\n    step()\n    torch.ones(1).backward\n" + loops
    (tmp_path / "endless.py").write_text(endless)
    (tmp_path / "train.py").write_text(FAULTY)
    done = check(tmp_path, "--format", "concise", ".")
    assert done.stdout.startswith("train.py:6:1: AFT101 ")


# The cache


def test_the_cache_answers_again_and_notices_changes(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text("def sweeps(loss):\n    loss.backward()\n")
    (tmp_path / "train.py").write_text(
        "import torch\nfrom lib import sweeps\nloss = torch.ones(3, requires_grad=True).pow(2).sum()\n"
        "sweeps(loss)\nloss.backward()\n"
    )
    first = check(tmp_path, "--format", "json", ".")
    assert first.returncode == 1
    (kept,) = (tmp_path / ".cache" / "afterward").iterdir()
    written = kept.read_bytes()
    assert check(tmp_path, "--format", "json", ".").stdout == first.stdout
    assert kept.read_bytes() == written or len(kept.read_bytes()) > 0
    (tmp_path / "lib.py").write_text("def sweeps(loss):\n    loss.backwards\n")
    assert check(tmp_path, "--format", "json", ".").returncode == 0
    (tmp_path / "lib.py").write_text("def sweeps(loss):\n    loss.backward()\n")
    assert check(tmp_path, "--format", "json", ".").stdout == first.stdout


@pytest.mark.parametrize("damage", [b"", b"\0" * 100, b"{}", b"abc\n{}", None])
def test_a_damaged_cache_costs_time_only(tmp_path: Path, damage: bytes | None) -> None:
    (tmp_path / "train.py").write_text(FAULTY)
    first = check(tmp_path, "--format", "json", ".")
    (kept,) = (tmp_path / ".cache" / "afterward").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    again = check(tmp_path, "--format", "json", ".")
    assert (again.returncode, again.stdout, again.stderr) == (1, first.stdout, first.stderr)


def test_the_cache_forgets_files_that_are_gone(tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(CLEAN)
    check(tmp_path, ".")
    (tmp_path / "one.py").unlink()
    (tmp_path / "two.py").write_text(CLEAN + "\n")
    check(tmp_path, ".")
    (kept,) = (tmp_path / ".cache" / "afterward").iterdir()
    assert b"two.py" in kept.read_bytes()
    assert b"one.py" not in kept.read_bytes()


# Watching


def test_watch_checks_again_and_ends_cleanly(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(CLEAN)
    environment = {**os.environ, "AFTERWARD_CACHE": str(tmp_path / ".cache")}
    process = subprocess.Popen(
        [sys.executable, "-m", "afterward", "check", "--watch", "--format", "concise", "."],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    killer = threading.Timer(120, process.kill)
    killer.start()
    try:
        assert process.stderr is not None
        assert process.stdout is not None
        assert process.stderr.readline().startswith("All clear: 1 file")
        assert "watching 1 file;" in process.stderr.readline()
        file.write_text(FAULTY)
        assert process.stdout.readline().startswith("train.py:6:1: AFT101 ")
        assert process.stderr.readline() == "afterward: train.py changed\n"
        assert process.stderr.readline().startswith("1 error in 1 file. Checked 1 file")
        assert "watching" in process.stderr.readline()
        process.send_signal(__import__("signal").SIGINT)
        rest, errors = process.communicate()
        assert (process.returncode, rest, errors) == (1, "", "")
    finally:
        killer.cancel()
        process.kill()


def test_other_commands_do_not_load_the_interpreter(tmp_path: Path) -> None:
    code = "import sys, afterward.cli; print([m for m in sys.modules if 'interpret.' in m or 'multiproc' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
