"""Trials touch nothing: what a tried program writes, by whatever means, is gone when it is over."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from afterward.render.proofs import note_text
from afterward.tasks.isolation import why_not
from afterward.tasks.trial import Request, Trial
from afterward.tasks.trial_runner import TrialRunner

REFUSING = """
import sys
from afterward.tasks import trial_server
trial_server.why_not = lambda: "not in this test"
trial_server.main({number}, {runner})
"""


class RefusedRunner(TrialRunner):
    """As on a system that allows no private mounts."""

    def _start(self, channel: socket.socket) -> subprocess.Popen[bytes]:
        number = channel.fileno()
        code = REFUSING.format(number=number, runner=os.getpid())
        return subprocess.Popen([sys.executable, "-c", code], pass_fds=(number,), start_new_session=True)


@pytest.fixture(scope="module")
def private() -> Iterator[TrialRunner]:
    if why_not():
        pytest.skip(f"no private view here: {why_not()}")
    with TrialRunner() as runner:
        yield runner


@pytest.fixture(scope="module")
def refused() -> Iterator[TrialRunner]:
    with RefusedRunner() as runner:
        yield runner


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "data").mkdir(parents=True)
    (folder / "kept.txt").write_text("as it was")
    (folder / "data" / "inner.txt").write_text("inner")
    (folder / "blue.pt").write_text("BLUE")
    (folder / "green.pt").write_text("GREEN")
    (folder / "live").symlink_to("blue.pt")
    import sqlite3

    with sqlite3.connect(folder / "runs.db") as base:
        base.execute("create table runs (name text)")
    base.close()
    return folder


def tried(runner: TrialRunner, work: Path, program: str, **options: object) -> Trial:
    (work / "train.py").write_text(program)
    return runner.run(Request("train.py", folder=str(work), **options), limit=60)  # type: ignore[arg-type]


def state(folder: Path) -> dict[str, object]:
    """Every path with its kind, its rights and what is in it."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        what = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (facts.st_mode, facts.st_mtime_ns if not path.is_dir() else 0, what)
    return found


WRITERS = {
    "open": "open('kept.txt', 'w').write('lost')",
    "append": "open('kept.txt', 'a').write('more')",
    "remove": "os.remove('kept.txt')",
    "replace": "open('new.txt', 'w').write('x'); os.replace('new.txt', 'kept.txt')",
    "killed": "open('kept.txt', 'w').write('lost'); os.kill(os.getpid(), 9)",
    "folders": "os.makedirs('a/b'); open('a/b/c', 'w').write('x')",
    "rmtree": "shutil.rmtree('data')",
    "renamed folder": "os.rename('data', 'moved'); open('moved/inner.txt', 'w').write('x')",
    "chmod": "os.chmod('kept.txt', 0o600); os.utime('kept.txt', (1, 1))",
    "sqlite": "import sqlite3; b = sqlite3.connect('runs.db'); b.execute('insert into runs values (1)'); b.commit()",
    "subprocess": "subprocess.run('echo lost > kept.txt; rm -r data; mkdir made', shell=True, check=True)",
    "left behind": "subprocess.Popen('sleep 3; echo late > kept.txt', shell=True, start_new_session=True)",
    "folder descriptor": "d = os.open('data', os.O_RDONLY); os.unlink('inner.txt', dir_fd=d); os.mkdir('x', dir_fd=d)",
    "mmap": "import mmap; f = open('kept.txt', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[:2] = b'XX'; m.flush()",
    "symlink": "os.remove('live'); os.symlink('green.pt', 'live'); open('live', 'w').write('RED')",
    "through a link": "open('live', 'w').write('RED')",
    "torch.save": "import torch; torch.save({'a': torch.ones(3)}, 'kept.txt')",
    "torch.jit.save": "import torch; torch.jit.save(torch.jit.script(torch.nn.Linear(2, 1)), 'kept.txt')",
    "by a fork": "os.fork() or (open('kept.txt', 'w').write('by a worker'), os._exit(0)); os.wait()",
}
HEAD = "import os, sys, shutil, subprocess\n"


@pytest.mark.parametrize("way", WRITERS)
def test_nothing_is_changed(private: TrialRunner, work: Path, way: str) -> None:
    (work / "train.py").write_text(HEAD + WRITERS[way] + "\n")
    before = state(work)
    trial = private.run(Request("train.py", folder=str(work)), limit=60)
    assert trial.ending == ("died" if way == "killed" else "finished"), trial.error
    after = state(work)
    after = {name: facts for name, facts in after.items() if "__pycache__" not in name}
    assert after == before


def test_what_is_written_is_there_for_the_program(private: TrialRunner, work: Path) -> None:
    program = """
import os, tempfile
open("made.txt", "w").write("x")
assert open("made.txt").read() == "x"
os.rename("data", "other")
assert open("other/inner.txt").read() == "inner"
with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
open(os.path.expanduser("~/.afterward-test"), "w").write("x")
open("/dev/null", "w").write("x")
assert os.getcwd() == {folder!r}, os.getcwd()
assert os.path.abspath(__file__) == {file!r}
"""
    program = program.format(folder=str(work), file=str(work / "train.py"))
    assert tried(private, work, program).error == ""
    assert not Path("~/.afterward-test").expanduser().exists()


def test_there_is_no_network_but_loopback(private: TrialRunner, work: Path) -> None:
    with socket.socket() as outside:
        outside.bind(("127.0.0.1", 0))
        outside.listen()
        program = f"""
import socket
server = socket.socket()
server.bind(("127.0.0.1", {outside.getsockname()[1]}))  # taken outside, free in here
server.listen()
socket.create_connection(server.getsockname()).close()
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as error:
    assert error.errno == 101, error
else:
    raise AssertionError("it got out")
"""
        assert tried(private, work, program).error == ""


def test_no_process_outlives_its_trial(private: TrialRunner, work: Path) -> None:
    program = 'import subprocess; subprocess.Popen(["sleep", "1234.5"], start_new_session=True)'
    assert tried(private, work, program).ending == "finished"
    assert not any(_command(name) == ["sleep", "1234.5"] for name in os.listdir("/proc") if name.isdigit())


def _command(pid: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def test_a_trial_that_takes_too_long_is_ended(private: TrialRunner, work: Path) -> None:
    trial = private.run(_written(work, "import time; time.sleep(1000)"), limit=0.5)
    assert trial.ending == "time"
    assert tried(private, work, "pass").ending == "finished", "the next one is none the worse"


def _written(work: Path, program: str) -> Request:
    (work / "train.py").write_text(program)
    return Request("train.py", folder=str(work))


def test_the_run_that_is_shown_is_the_users_own(private: TrialRunner, work: Path) -> None:
    assert tried(private, work, 'open("kept.txt", "w").write("mine")', shown=True).ending == "finished"
    assert (work / "kept.txt").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_an_ordinary_user_has_the_view_too(tmp_path: Path) -> None:
    """A user namespace needs no root. The whole runner is run as that user."""
    folder = tmp_path / "of-user"
    (folder / "data").mkdir(parents=True)
    (folder / "kept.txt").write_text("as it was")
    (folder / "train.py").write_text(
        'import os; open("kept.txt", "w").write(str(os.getuid())); os.remove("train.py"); os.rename("data", "new")'
    )
    for path in (folder, *folder.iterdir()):
        os.chown(path, 12345, 12345)
    for parent in [p for p in folder.parents if p.stat().st_uid == os.geteuid() and p != Path("/")]:
        parent.chmod(parent.stat().st_mode | 0o011)
    code = """
import os, sys
from afterward.tasks.isolation import why_not
from afterward.tasks.trial_runner import TrialRunner
from afterward.tasks.trial import Request
if why_not():
    sys.exit(why_not())
with TrialRunner() as runner:
    print(runner.run(Request("train.py")).ending)
"""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            user=12345,
            group=12345,
            extra_groups=[],
            env={**os.environ, "HOME": str(folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    except PermissionError as refused:  # an interpreter in a folder that is closed to others, as root's home may be
        pytest.skip(f"another user cannot start this Python: {refused}")
    if done.returncode:
        pytest.skip(f"not for other users here: {done.stderr[-200:]}")
    assert done.stdout == "finished\n"
    assert (folder / "kept.txt").read_text() == "as it was"
    assert {path.name for path in folder.iterdir()} == {"kept.txt", "train.py", "data"}


# Where the system refuses


REFUSED_WRITERS = [way for way in WRITERS if way not in ("mmap", "left behind", "killed")]


@pytest.mark.parametrize("way", REFUSED_WRITERS)
def test_a_copy_is_written_where_the_view_is_refused(refused: TrialRunner, work: Path, way: str) -> None:
    (work / "train.py").write_text(HEAD + WRITERS[way] + "\n")
    before = state(work)
    trial = refused.run(Request("train.py", folder=str(work)), limit=60)
    assert trial.ending == "finished", trial.error
    assert state(work) == before
    assert trial.not_isolated is not None
    told = note_text(trial.not_isolated)
    assert "not in this test" in told
    assert str(work) in told


def test_a_write_outside_of_the_copy_is_refused_and_said(refused: TrialRunner, work: Path, tmp_path: Path) -> None:
    trial = tried(refused, work, f"open({str(tmp_path / 'outside.txt')!r}, 'w')")
    assert trial.ending == "raised"
    assert trial.hindered is not None
    told = f"the program writes to {tmp_path / 'outside.txt'}, outside of the folder that test runs get a copy of"
    assert note_text(trial.hindered) == told
    assert not (tmp_path / "outside.txt").exists()


def test_paths_of_a_copy_are_those_of_the_folder(refused: TrialRunner, work: Path) -> None:
    program = "import torch\nloss = torch.ones(2, requires_grad=True).exp().sum()\nloss.backward()\nloss.backward()\n"
    trial = tried(refused, work, program, patched={str(work / "train.py"): program.encode()})
    (found,) = trial.report.findings
    assert found.code == "AFT101"
    assert str(work / "train.py") in trial.sources
    assert "afterward-trial-" not in repr(trial)


def test_large_files_are_linked(refused: TrialRunner, work: Path) -> None:
    with (work / "weights.bin").open("wb") as file:
        file.truncate(64 << 20)
    program = "import os\nassert os.path.getsize('weights.bin') == 64 << 20 and os.path.islink('weights.bin')\n"
    assert tried(refused, work, program).error == ""
    trial = tried(refused, work, "open('weights.bin', 'r+b')")
    assert trial.hindered


def test_no_copy_is_left_behind(work: Path) -> None:
    import tempfile

    before = set(Path(tempfile.gettempdir()).glob("afterward-trial-*"))
    with RefusedRunner() as runner:
        tried(runner, work, "pass")
    assert set(Path(tempfile.gettempdir()).glob("afterward-trial-*")) <= before


def test_copies_of_the_dead_are_removed_at_the_next_start(work: Path) -> None:
    import tempfile

    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = Path(tempfile.gettempdir(), f"afterward-trial-{dead.pid}-xyz")
    left.mkdir()
    (left / "file").write_text("x")
    try:
        with RefusedRunner() as runner:
            tried(runner, work, "pass")
        assert not left.exists()
    finally:
        shutil.rmtree(left, ignore_errors=True)


def test_the_folder_that_a_server_was_started_in_may_go(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tmp_path / "start"
    start.mkdir()
    monkeypatch.chdir(start)
    with TrialRunner() as runner:
        (work / "train.py").write_text("print(1)\n")
        assert runner.run(Request("train.py", folder=str(work))).ending == "finished"
        monkeypatch.chdir(work)
        start.rmdir()
        assert runner.run(Request("train.py", folder=str(work), patched={})).ending == "finished"
