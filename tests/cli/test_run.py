"""`afterward run` as a real process: exit code, standard output, standard error, files."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests import warm

import afterward

OURS = str(Path(afterward.__file__).parent)  # the folder of a clone may have any name, so frames are told by this
BROKEN = """\
import sys
import torch
print("arguments", sys.argv[1:])
weight = torch.ones(3, requires_grad=True)
loss = (weight * weight).sum()
loss.backward()
loss.backward()
"""


def _afterward(*words: str, cwd: Path, **options) -> subprocess.CompletedProcess[str]:
    return warm.afterward(*words, cwd=cwd, **options)


def _from_the_start(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "afterward", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_a_broken_pass_is_explained_after_the_traceback(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    done = _from_the_start("run", "train.py", "--epochs", "3", "-v", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == "arguments ['--epochs', '3', '-v']\n"
    traceback, report = done.stderr.split("\nerror[AFT101]", 1)
    assert traceback.rstrip().endswith("if you need to access saved tensors after calling backward.")
    assert OURS not in traceback
    assert "train.py:7:1" in report
    assert "freed that graph here" in report
    assert all(len(line) <= 80 for line in report.splitlines())
    assert "\x1b[" not in done.stderr


def test_the_json_report(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    done = _afterward("run", "--format", "json", "--out", "report.json", "train.py", cwd=tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert done.returncode == report["program"]["exit"] == 1
    assert report["schema"] == "afterward/1"
    assert report["program"] == {"argv": ["train.py"], "exit": 1, "error": "second_backward"}
    (finding,) = report["findings"]
    assert finding["code"] == "AFT101"
    assert finding["built"] == {"file": "train.py", "line": 5, "end_line": 5, "step": None}
    assert finding["freed"]["line"] == 6
    assert finding["reused"]["line"] == 7
    assert finding["bridge"] == {"name": "loss", "kind": "global"}
    assert finding["remedies"][0]["kind"] == "remove_duplicate"
    assert report["gaps"] == []


def test_the_report_is_written_when_nothing_was_wrong(tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text("print('fine')\n")
    done = _afterward("run", "--format", "json", "--out", "report.json", "fine.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    assert json.loads((tmp_path / "report.json").read_text())["findings"] == []


@pytest.mark.parametrize(
    ("source", "status", "stderr"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('so long')", 1, "so long\n"),
        ("import sys; sys.exit()", 0, ""),
        ("raise SystemExit(300)", 44, ""),
    ],
)
def test_the_program_s_own_way_of_ending(source: str, status: int, stderr: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(source)
    done = _afterward("run", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (status, stderr)


def test_a_syntax_error_is_python_s_own(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("x = (\n")
    done = _from_the_start("run", "program.py", cwd=tmp_path)
    plain = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == plain.returncode == 1
    assert done.stderr.splitlines()[-1] == plain.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "missing.py"], "can't open file 'missing.py'"),
        (["run", "-m", "no_such_module_here"], "no module named no_such_module_here"),
        (["run", "--out", "no/such/folder/r.json", "fine.py"], "cannot write the report"),
        (["explain", "AFT999"], "no rule and no known PyTorch message fits 'AFT999'"),
    ],
)
def test_bad_input_gets_one_clear_line(words: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text("")
    done = _afterward(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert complaint in done.stderr


def test_a_report_that_cannot_be_written_any_more_leaves_the_exit_status(tmp_path: Path) -> None:
    program = (
        "import os, sys, torch\nos.unlink('r.txt')\nos.mkdir('r.txt')\nx = torch.ones(1, requires_grad=True).exp()\n"
    )
    (tmp_path / "program.py").write_text(
        program + "x.backward()\ntry: x.backward()\nexcept RuntimeError: sys.exit(4)\n"
    )
    done = _afterward("run", "--out", "r.txt", "program.py", cwd=tmp_path)
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1].startswith("afterward: cannot write the report to")


def test_a_module_of_a_package_with_relative_imports(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text("def half(x):\n    return x / 2\n")
    (package / "train.py").write_text(
        "import sys\nfrom .parts import half\nimport torch\n"
        "print(__name__, __package__, __spec__.name, sys.argv[1:], half(4))\n"
        "w = torch.ones(2, requires_grad=True)\nv = torch.exp(half(w))\nv.sum().backward()\nv.mean().backward()\n"
    )
    done = _afterward("run", "-m", "package.train", "--fast", cwd=tmp_path)
    assert done.stdout == "__main__ package package.train ['--fast'] 2.0\n"
    assert "error[AFT102]" in done.stderr
    assert "package/train.py" in done.stderr


def test_classes_of_main_are_pickled_and_workers_start(tmp_path: Path) -> None:
    source = """
import multiprocessing, pickle

class Point:
    def __init__(self, x):
        self.x = x

def double(point):
    return Point(2 * point.x)

if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(Point(3))).x == 3
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, [p.x for p in pool.map(double, [Point(1), Point(2)])])
"""
    (tmp_path / "program.py").write_text(source)
    done = _from_the_start("run", "program.py", cwd=tmp_path)
    assert done.stdout == "fork [2, 4]\nspawn [2, 4]\n", done.stderr


def test_standard_input_is_the_program_s(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("print(input().upper())")
    assert _afterward("run", "program.py", cwd=tmp_path, input="hello\n").stdout == "HELLO\n"


def test_an_interrupt_ends_it_as_python_would(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "afterward", "run", "program.py"]
    # A test run in the background of a shell ignores interrupts, and its children would too.
    default = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    running = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default
    )
    assert running.stdout is not None
    running.stdout.readline()
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=30)
    assert running.returncode in (130, -signal.SIGINT)
    assert stderr.rstrip().endswith("KeyboardInterrupt")


def test_colour_only_where_it_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    forced = _afterward("run", "train.py", cwd=tmp_path, env={**os.environ, "FORCE_COLOR": "1"})
    assert "\x1b[" in forced.stderr
    silenced = _afterward("run", "train.py", cwd=tmp_path, env={**os.environ, "FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert "\x1b[" not in silenced.stderr


def test_rules_and_explain(tmp_path: Path) -> None:
    listed = _afterward("rules", cwd=tmp_path).stdout
    assert "AFT103  state-carried-over" in listed
    by_code = _afterward("explain", "aft103", cwd=tmp_path).stdout
    assert by_code.startswith("# AFT103 state-carried-over\n")
    assert _afterward("explain", "state-carried-over", cwd=tmp_path).stdout == by_code


RETAINS = """\
import torch
weight = torch.ones(1000, requires_grad=True)
for step in range(4):
    result = weight.exp()
    loss = result.sin().sum()
    loss.backward(retain_graph=True)
    weight.grad = None
print(loss.item())
"""


def test_the_memory_account(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RETAINS)
    plain = warm.python("train.py", cwd=tmp_path)
    done = _afterward("run", "--memory", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, plain.stdout.decode())
    account = done.stderr[done.stderr.index("memory: ") :]
    assert "memory: 3.9 KB of saved values at the peak" in account
    assert "3.9 KB  100 %  train.py:4  result = weight.exp()" in account
    assert "3.9 KB  train.py:6  4 calls; each keeping up to 3.9 KB" in account
    assert all(len(line) <= 80 for line in account.splitlines())
    done = _afterward("run", "--memory", "--format", "json", "--out", "report.json", "train.py", cwd=tmp_path)
    memory = json.loads((tmp_path / "report.json").read_text())["memory"]
    assert memory["bytes"] == 4000
    (line,) = memory["lines"]
    assert (line["file"], line["line"], line["bytes"], line["held_anyway"]) == ("train.py", 4, 4000, 4000)
    (one,) = memory["passes"]
    assert (one["line"], one["passes"], one["retaining"], one["kept"]) == (6, 4, 4, 4000)
    assert memory["allocator"] is None


def test_the_memory_account_of_a_program_without_passes(tmp_path: Path) -> None:
    (tmp_path / "fine.py").write_text("print('fine')\n")
    done = _afterward("run", "--memory", "fine.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert done.stderr == "\nmemory: no backward pass was seen\n"


def test_the_debugger_opens_in_the_failing_frame(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    asked = "p len(weight)\np finding.code\np bridge is loss\np len(graph.nodes) > 1\nq\n"
    done = _afterward("run", "--pdb", "train.py", cwd=tmp_path, input=asked)
    assert done.returncode == 1
    answers = [line.removeprefix("(Pdb) ") for line in done.stdout.splitlines() if line.startswith("(Pdb) ")]
    assert answers[:4] == ["3", "'AFT101'", "True", "True"]


def test_the_debugger_has_what_a_framework_trains_at_hand(tmp_path: Path) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "aft_loop.py").write_text(
        "def fit(module):\n    for i in range(3):\n        module.step(i).backward()\n"
    )
    (tmp_path / "train.py").write_text(
        """import sys
sys.path.append("site-packages")
import aft_loop
import torch

class Model:
    def __init__(self):
        self.weight = torch.ones(3, requires_grad=True)
        self.state = torch.zeros(3)

    def step(self, i):
        self.state = torch.tanh(self.state * self.weight)
        return self.state.sum()

aft_loop.fit(Model())
"""
    )
    done = _afterward(
        "run", "--pdb", "train.py", cwd=tmp_path, input="p finding.code\np bridge.grad_fn.name()\np graph\nq\n"
    )
    answers = [line.removeprefix("(Pdb) ") for line in done.stdout.splitlines() if line.startswith("(Pdb) ")]
    assert answers[:2] == ["'AFT103'", "'TanhBackward0'"]
    assert answers[2].startswith("History(")
    assert "at hand are `error`, `finding`, `graph`, `bridge`\n" in done.stderr


def test_the_debugger_does_not_open_without_an_error(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise SystemExit(3)\n")
    done = _afterward("run", "--pdb", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
