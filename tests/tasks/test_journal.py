"""A change of several files is made whole: killed at any moment, all files are old or all new after the next start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from afterward.tasks import journal
from afterward.tasks.files import FileNotWritten, read, write

# Dies in the middle: the Nth call of one of these functions is the last thing that it does.
DYING = """
import os, signal, sys
from afterward.tasks import journal
calls = 0
def dying(plain):
    def call(*args, **options):
        global calls
        if calls == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)
        calls += 1
        return plain(*args, **options)
    return call
for name in ("fsync", "replace", "unlink", "utime", "chmod"):
    setattr(os, name, dying(getattr(os, name)))
journal.change({name: (b"old " + name.encode(), b"new " + name.encode()) for name in ("a.py", "b.py", "sub/c.py")})
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.py", "b.py", "sub/c.py"):
        (folder / name).write_text(f"old {name}")
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


OLD = {name: f"old {name}" for name in ("a.py", "b.py", "sub/c.py")}
NEW = {name: f"new {name}" for name in ("a.py", "b.py", "sub/c.py")}


@pytest.mark.parametrize("call", range(0, 20, 2))
def test_all_or_none_after_any_death(work: Path, own_state: Path, call: int) -> None:
    done = subprocess.run([sys.executable, "-c", DYING, str(call)], cwd=work, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    list(journal.recovered())
    assert contents(work) in (OLD, NEW)
    assert contents(own_state) == {}, "no journal is left"


def test_nothing_dies_on_the_good_way(work: Path, own_state: Path) -> None:
    subprocess.run([sys.executable, "-c", DYING, "1000"], cwd=work, check=True)
    assert contents(work) == NEW
    assert contents(own_state) == {}


def test_a_file_that_was_edited_since_takes_the_change_back(work: Path) -> None:
    steps = [
        journal.Step(str(work / name), str(work / f".afterward-x-{n}"), _coded(f"old {name}"), _coded(f"new {name}"))
        for n, name in enumerate(OLD)
    ]
    begun = journal.Journal(journal._folder() / "x.json", steps, complete=True)
    begun.save()
    (work / "a.py").write_text("new a.py")  # it was killed after the first of three
    (work / "b.py").write_text("my own edit")
    ((made, files),) = journal.recovered()
    assert not made
    assert len(files) == 3
    assert contents(work) == {**OLD, "b.py": "my own edit"}


def _coded(text: str) -> str:
    import base64

    return base64.b64encode(text.encode()).decode()


def test_what_another_process_is_writing_is_left_to_it(work: Path) -> None:
    path = journal._folder() / "y.json"
    with journal._locked(path):
        journal.Journal(path, [], complete=True).save()
        assert list(journal.recovered()) == []
        assert path.exists()
        journal.Journal(path).remove()


def test_a_second_file_that_cannot_be_replaced_undoes_the_first(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, replaced = os.replace, []

    def failing(source: str, target: str) -> None:
        if str(target).endswith("b.py") and not replaced:
            replaced.append(target)
            raise OSError(28, "No space left on device", target)
        plain(source, target)

    monkeypatch.setattr(os, "replace", failing)
    monkeypatch.chdir(work)
    originals = {name: read(name) for name in ("a.py", "b.py")}
    with pytest.raises(FileNotWritten, match="nothing was written"):
        write(originals, {"a.py": "x = 1", "b.py": "y = 1"})
    assert contents(work) == OLD


def test_a_link_stays_a_link(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(work)
    Path("link.py").symlink_to("sub/c.py")
    write({"link.py": read("link.py")}, {"link.py": "x = 1"})
    assert Path("link.py").is_symlink()
    assert Path("sub/c.py").read_text() == "x = 1"
    assert sorted(path.name for path in work.iterdir()) == ["a.py", "b.py", "link.py", "sub"]


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o664, 0o750])
def test_rights_are_kept(work: Path, mode: int) -> None:
    file = work / "a.py"
    file.chmod(mode)
    write({str(file): read(str(file))}, {str(file): "x = 1"})
    assert file.stat().st_mode & 0o7777 == mode


@pytest.mark.parametrize(
    "data",
    [
        b"x = 1\r\ny = 2\r\n",
        b"\xef\xbb\xbfx = 1\n",
        b"# coding: latin-1\nx = 1; y = '\xe9'\n",
        b"x = 1\ry = 2\r",
    ],
    ids=["crlf", "bom", "latin-1", "cr"],
)
def test_encoding_and_line_ends_are_kept(work: Path, data: bytes) -> None:
    file = work / "a.py"
    file.write_bytes(data)
    original = read(str(file))
    write({str(file): original}, {str(file): original.text.replace("x = 1", "x = 5")})
    assert file.read_bytes() == data.replace(b"x = 1", b"x = 5")
