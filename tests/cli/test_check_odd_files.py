"""`afterward check` on a folder in which nothing is as it should be: one line for each such thing, and an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

FAULTY = """\
import torch

weight = torch.ones(3, requires_grad=True)
loss = (weight * weight).sum()
loss.backward()
loss.backward()
"""


def check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "AFTERWARD_CACHE": str(folder.parent / "cache"), "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "afterward", "check", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )


def files_in(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line.split(":")[0] for line in done.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "train.py").write_text(FAULTY)
    return made


@pytest.mark.parametrize(
    "text",
    [b"tool = 3\n", b"[tool]\nafterward_too = 1\n", b"[tool.other]\nname = 1\n", b"not = = toml", b"\xff\xfe\x00", b""],
    ids=["number", "other-name", "other-tool", "broken", "bytes", "empty"],
)
def test_a_pyproject_that_says_nothing_to_us_is_no_matter(folder: Path, text: bytes) -> None:
    (folder / "pyproject.toml").write_bytes(text)
    done = check(folder, ".")
    assert (done.returncode, "AFT101" in done.stdout, "pyproject" in done.stderr) == (1, True, False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[tool.afterward\n", "not valid TOML"),
        (b"# afterward\n\xff = 1\n", "not valid TOML"),
        (b"[tool]\nafterward = 3\n", "[tool.afterward] must be a table"),
        (b"[tool.afterward]\nselect = 3\n", "select must be a list of texts"),
        (b"[tool.afterward]\nafterward = " + b"[" * 5000 + b"]" * 5000, "not valid TOML"),
    ],
    ids=["broken", "bytes", "number", "odd-setting", "deep"],
)
def test_a_pyproject_that_says_something_wrong_to_us_gets_one_line(folder: Path, text: bytes, reason: str) -> None:
    (folder / "pyproject.toml").write_bytes(text)
    done = check(folder, ".")
    assert (done.returncode, done.stderr.count("\n"), reason in done.stderr) == (2, 1, True)


@pytest.mark.parametrize("name", [".gitignore", "pyproject.toml", "helper.py", "other.py"])
def test_a_pipe_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / "train.py").write_text("import helper\n" + FAULTY)
    os.mkfifo(folder / name)
    done = check(folder, "--format", "concise", ".")
    assert (done.returncode, files_in(done)) == (1, ["train.py"])


@pytest.mark.parametrize("coding", ["undefined", "idna", "punycode", "rot13", "zlib", "no-such", "utf-16"])
def test_an_encoding_that_can_not_be_read_is_one_line(folder: Path, coding: str) -> None:
    (folder / "odd.py").write_bytes(f"# coding: {coding}\nx.backward()\n# \xe9..\n".encode("latin-1"))
    done = check(folder, "--format", "concise", ".")
    assert (done.returncode, files_in(done), done.stderr.count("odd.py")) == (1, ["train.py"], 1)


def test_gitignore_is_read_as_git_reads_it(folder: Path) -> None:
    (folder / ".git").write_text("gitdir: elsewhere\n")  # a linked worktree
    (folder / ".gitignore").write_text("/data/*.py\n**/cache/\nlogs/**/*.py\n[z-a]\n\\\n*.tmp.py\n!keep.tmp.py\n")
    (folder / "inner").mkdir()
    (folder / "inner" / ".gitignore").write_text("mine.py\n!theirs.tmp.py\n")
    shown = ["data/sub/b.py", "inner/theirs.tmp.py", "keep.tmp.py", "mine.py", "logs.py"]
    hidden = ["data/a.py", "x/cache/c.py", "logs/a/b/c.py", "a.tmp.py", "inner/mine.py"]
    for place in (*shown, *hidden):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(FAULTY)
    assert sorted(files_in(check(folder, "--format", "concise", "."))) == sorted([*shown, "train.py"])
    # a folder in it is checked by the same rules
    assert files_in(check(folder / "inner", "--format", "concise", ".")) == ["theirs.tmp.py"]


def test_the_cache_is_where_the_system_keeps_caches(folder: Path) -> None:
    home = folder.parent / "home"
    command = [sys.executable, "-m", "afterward", "check", "."]
    environment = {name: value for name, value in os.environ.items() if name != "AFTERWARD_CACHE"}
    environment |= {"XDG_CACHE_HOME": str(home), "LOCALAPPDATA": str(home), "HOME": str(home)}
    assert subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode == 1
    assert [file.suffix for file in home.rglob("*") if file.is_file()] == [".json"]


@pytest.mark.parametrize("form", ["text", "concise", "json", "sarif", "github", "junit"])
@pytest.mark.parametrize("name", ["a\x1b[31mb\n::error::.py", "d\x7f\x85\u202e.py", os.fsdecode(b"b\xff.py")])
def test_a_file_name_can_not_talk_to_the_terminal(folder: Path, form: str, name: str) -> None:
    (folder / name).write_text(FAULTY)
    (folder / f"broken_{name}").write_text("def f(:")
    (folder / "train.py").unlink()
    done = check(folder, "--format", form, "--show-gaps", ".")
    assert done.returncode == 1, done.stderr
    printed = done.stdout + done.stderr
    assert not [one for one in printed if one != "\n" and (ord(one) < 32 or 0x7F <= ord(one) < 0xA0)]
    assert not any(one in printed for one in "\u202e\udcff")
    assert not any(line.startswith("::error::") for line in printed.splitlines())
    if form == "json":
        (found,) = json.loads(done.stdout)["findings"]
        assert found["reused"]["file"] == name
    elif form == "junit":
        ElementTree.fromstring(done.stdout.encode())
    elif form == "sarif":
        (found,) = json.loads(done.stdout)["runs"][0]["results"]
        uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert os.fsdecode(unquote_to_bytes(uri)) == name
