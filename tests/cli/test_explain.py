"""`afterward explain` as a real process: codes, names, messages, tracebacks."""

from __future__ import annotations

from pathlib import Path

from tests import warm

TRACEBACK = """\
Traceback (most recent call last):
  File "train.py", line 8, in <module>
    loss.backward()
  File "/usr/lib/python3/dist-packages/torch/_tensor.py", line 522, in backward
    torch.autograd.backward(
RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
"""


def test_a_message_gives_its_page(tmp_path: Path) -> None:
    for text in ("element 0 of tensors does not require grad", "a leaf variable that requires grad"):
        done = warm.afterward("explain", text, cwd=tmp_path)
        assert done.returncode == 0
        assert text.partition(" of ")[2][:12].lower() in done.stdout.lower()
    assert "# leaf-written-in-place" in done.stdout


def test_a_traceback_on_stdin_names_the_program_to_run(tmp_path: Path) -> None:
    done = warm.afterward("explain", cwd=tmp_path, input=TRACEBACK)
    assert done.returncode == 0
    said = " ".join(done.stdout.splitlines()[-2:])
    assert "afterward run train.py" in said
    assert "AFT401" in said


def test_a_page_is_for_readers(tmp_path: Path) -> None:
    done = warm.afterward("explain", "backward through the graph a second time", cwd=tmp_path)
    assert "> Trying to backward through the graph a second time" in done.stdout
    assert "- law:" not in done.stdout
    assert "- rule:" not in done.stdout


def test_the_beginning_of_a_name_is_completed(tmp_path: Path) -> None:
    done = warm.afterward("explain", "state-carried", cwd=tmp_path)
    assert "did you mean state-carried-over?" in done.stderr


def test_a_misspelt_name_gets_the_nearest(tmp_path: Path) -> None:
    done = warm.afterward("explain", "state-caried-over", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "state-carried-over" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_nothing_known_is_one_line(tmp_path: Path) -> None:
    done = warm.afterward("explain", "KeyError: 'x'", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_without_anything_it_says_what_to_give_it(tmp_path: Path) -> None:
    done = warm.afterward("explain", " ", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "''" not in done.stderr
