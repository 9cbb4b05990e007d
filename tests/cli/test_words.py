"""What the command line answers to a mistake: the usage, an example, the word that was meant."""

from __future__ import annotations

import pytest

from afterward.cli import COMMANDS, main


def _answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        status = main(words)
    except SystemExit as end:
        status = int(end.code or 0)
    done = capsys.readouterr()
    return status, done.out, done.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["chekc"], "afterward: there is no command 'chekc': did you mean check?"),
        (["run", "--hmtl", "r.html", "train.py"], "afterward run: there is no option --hmtl: did you mean --html?"),
        (["run", "--hmtl"], "afterward run: there is no option --hmtl: did you mean --html?"),
        (["run"], "afterward run: the following arguments are required: FILE"),
        (["check", "--selct=AFT1"], "afterward check: there is no option --selct=AFT1: did you mean --select?"),
        (["explain", "AFT130"], "fits 'AFT130': did you mean AFT103?"),
        (["explain", "stat-carried-over"], "did you mean state-carried-over?"),
        (["check", "--select", "AFT130", "."], "afterward: no rule is called AFT130: did you mean AFT103?"),
    ],
)
def test_a_mistake_is_answered_with_what_was_meant(
    capsys: pytest.CaptureFixture[str], words: list[str], meant: str
) -> None:
    status, out, err = _answer(capsys, *words)
    assert (status, out) == (2, "")
    assert meant in err
    assert "Traceback" not in err


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ((), ("help",), ("--help",)):
        status, out, err = _answer(capsys, *words)
        assert (status, err) == (0, "")
        assert all(f"\n    {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "lsp"])
def test_help_has_examples(capsys: pytest.CaptureFixture[str], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = _answer(capsys, name, "--help")
    assert status == 0
    assert f"examples:\n  afterward {name}" in out
    assert max(map(len, out.splitlines())) <= 90


@pytest.mark.parametrize("name", ["demo", "rules"])
def test_lists_break_no_word_at_eighty_columns(
    capsys: pytest.CaptureFixture[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = _answer(capsys, name)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    assert out.splitlines()[-1].startswith("`afterward ")  # what to do next
