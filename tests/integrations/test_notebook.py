"""`%load_ext afterward`: cells by their names, state across cells, magics, and everything as it was after unloading.

Most tests run cells in a shell of this process; the last ones start a real kernel, as a front end would.
"""

from __future__ import annotations

import base64
import builtins
import gc
import os
import re
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("IPython")

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

SETUP = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
"""


@dataclass
class Cell:
    """What running a cell has shown: the printed text (with the traceback), our texts, our HTML."""

    printed: str
    texts: list[str]
    pages: list[str]
    result: Any

    @property
    def text(self) -> str:
        (text,) = self.texts
        return text


class Notebook:
    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def run(self, source: str, **options: Any) -> Cell:
        options = {"store_history": True, **options}
        with capture_output() as captured:
            result = self.shell.run_cell(textwrap.dedent(source).strip("\n"), **options)
        ours = [output.data for output in captured.outputs if "afterward" in output.data.get("text/plain", "")]
        ours += [output.data for output in captured.outputs if "[AFT" in output.data.get("text/plain", "")]
        printed = re.sub(r"\x1b\[[0-9;]*m", "", captured.stdout)
        return Cell(printed, [one["text/plain"] for one in ours], [one.get("text/html", "") for one in ours], result)


@pytest.fixture
def bare(torch_as_it_was: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    """A shell that has not loaded us."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("afterward.tasks.notebook._known", [])  # as in a process of its own
    main = sys.modules["__main__"]
    names = set(vars(builtins))  # a shell adds some, and so do marked cells, whose functions may outlive the watch
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = InteractiveShell.instance(config=config)
    try:
        yield Notebook(shell)
    finally:
        shell.run_cell("%unload_ext afterward", silent=True)
        shell.reset(new_session=False)
        InteractiveShell.clear_instance()
        sys.modules["__main__"] = main
        for name in vars(builtins).keys() - names:
            delattr(builtins, name)


@pytest.fixture
def book(bare: Notebook) -> Notebook:
    bare.run("%load_ext afterward")
    bare.run(SETUP)
    return bare


def test_state_lives_across_cells_and_each_run_has_its_name(book: Notebook) -> None:
    book.run("out = model(x)")
    book.run("loss = (out - y).pow(2).mean()")
    assert book.run("opt.zero_grad()\nloss.backward()\nopt.step()").texts == []
    cell = book.run("opt.zero_grad()\nloss.backward()\nopt.step()")
    assert "error[AFT101]" in cell.text
    assert "--> In[6]:2:1" in cell.text
    assert "needs values that In[5]'s `backward()` freed" in cell.text
    assert "::: In[4]:1" in cell.text
    assert "`opt.step()` (line 3 of In[5]) modified" in " ".join(cell.text.split())
    # Both cells behind the loss have to run again: the first alone would not do.
    assert "run line 1 of In[3] and line 1 of In[4] again" in " ".join(cell.text.split())


def test_running_a_cell_again_is_the_next_step(book: Notebook) -> None:
    book.run("cell, h = nn.RNNCell(4, 8), torch.zeros(1, 8)")
    step = "h = cell(torch.randn(1, 4), h)\nh.sum().backward()"
    assert book.run(step).texts == []
    text = book.run(step).text
    assert "error[AFT103]" in text
    assert "still holds the graph of In[4]" in text
    assert "--> In[5]:2:1\n" in text


def test_a_forward_in_another_cell_is_outside_the_cell_that_is_run_again(book: Notebook) -> None:
    book.run("features = model[0](x).tanh()")
    run_backward = "loss = model[2](features).mean()\nloss.backward()"
    book.run(run_backward)
    text = " ".join(book.run(run_backward).text.split())
    assert "error[AFT104]" in text
    assert "every run of the cell calls `backward()` through it" in text


def test_loops_in_a_cell_count_steps_as_ever(book: Notebook) -> None:
    text = book.run(
        """
        features = model[0](x).tanh()
        for _ in range(3):
            loss = model[2](features).mean()
            loss.backward()
        """
    ).text
    assert "--> In[3]:4:5, step 2" in text
    assert "needs values that step 1's `backward()` freed" in text


def test_the_traceback_is_shown_once_and_unchanged(bare: Notebook) -> None:
    bare.run(SETUP)
    source = "z = model(x).sum()\nz.backward()\nz.backward()"
    plain = bare.run(source).printed
    bare.run("%load_ext afterward")
    watched = bare.run(source)
    same = re.compile(r"In\[\d+\]|0x[0-9a-f]+|ipython-input-\d+|\d+ms|line \d+")
    assert same.sub("", watched.printed) == same.sub("", plain)
    assert watched.printed.count("Trying to backward through the graph a second time") == plain.count(
        "Trying to backward through the graph a second time"
    )
    assert len(watched.texts) == 1
    assert getattr(watched.result.error_in_exec, "__notes__", []) == []


def test_the_last_expression_is_the_result_as_ever(book: Notebook) -> None:
    assert book.run("a = 3\na + 1").result.result == 4
    assert book.run("a = 3").result.result is None
    assert book.run("Out").result.result == {3: 4}
    assert "__afterward" not in " ".join(book.shell.user_ns)


def test_a_correct_notebook_is_told_nothing(book: Notebook) -> None:
    train = """
    for _ in range(3):
        loss = (model(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    loss
    """
    for _ in range(3):
        assert book.run(train).texts == []


@pytest.mark.parametrize("magic", ["%%time", "%%capture captured", "%%afterward\n%%time", "%%time\n%%afterward"])
def test_lines_under_a_cell_magic_are_the_cells_own(book: Notebook, magic: str) -> None:
    above = magic.count("\n") + 1
    text = book.run(magic + "\nz = model(x).sum()\nz.backward()\nif True:\n    z.backward()").text
    assert f"--> In[3]:{above + 4}:5" in text
    assert f"the `backward()` on line {above + 2}" in text
    assert "z = model(x).sum()" in text


def test_a_lone_expression_under_time_stays_one(book: Notebook) -> None:
    cell = book.run("%%time\n(model(x).sum() + 0).backward()")
    assert cell.result.success, cell.printed
    assert book.run("%time 6 * 7").result.result == 42
    cell = book.run("z = model(x).sum()\nz.backward()\n%time z.backward()")
    assert "--> In[5]:3:1" in cell.text
    assert "<timed eval>" in cell.printed


def test_await_in_a_cell(book: Notebook) -> None:
    text = book.run(
        """
        import asyncio
        await asyncio.sleep(0)
        z = model(x).sum()
        z.backward()
        await asyncio.sleep(0)
        z.backward()
        """
    ).text
    assert "--> In[3]:6:1" in text
    assert "the `backward()` on line 4" in text


def test_the_report_of_one_cell(book: Notebook) -> None:
    train = "%%afterward\nfor _ in range(12):\n    loss = model(x).mean()\n    opt.zero_grad()\n    {}\n    opt.step()"
    assert book.run(train.format("loss.backward()")).text == (
        "afterward: no problems in this cell; 12 backward passes watched"
    )
    text = book.run(train.format("loss.backward(retain_graph=True)")).text
    assert "warning[AFT303]" in text
    assert "--> In[4]:5:5" in text
    assert book.run(train.format("loss.backward()")).text.startswith("afterward: no problems in this cell")
    assert "warning[AFT303]" in book.run("%afterward report").text
    assert book.run("%%afterward\n1 + 1").result.result == 2


def test_the_full_report_has_the_picture(book: Notebook) -> None:
    source = 'z = model(x).sum()  # <b>&"\nz.backward()\nz.backward()'
    (plain,), (full,) = book.run(source).pages, book.run("%%afterward\n" + source).pages
    assert plain.count("<img") == 1, "under the traceback too"
    (alt, data), *more = re.findall(r'<img alt="([^"]*)" style="[^"]*" src="data:image/svg\+xml;base64,([^"]*)">', full)
    assert not more
    assert alt == "this backward() needs a graph that the backward() on line 3 already freed"
    drawn = base64.b64decode(data).decode()
    assert "z.backward()" in drawn
    assert "<script" not in drawn
    quiet = "%%afterward\nfor _ in range(12):\n    model(x).mean().backward(retain_graph=True)\n    opt.zero_grad()"
    assert "data:image/svg+xml" in book.run(quiet).pages[0], "what raised nothing is drawn too"
    assert book.run("%afterward report").pages[0].count("<img") >= 3


def test_an_error_that_a_cell_catches_is_in_its_report_only(book: Notebook) -> None:
    source = "z = model(x).sum()\nz.backward()\ntry:\n    z.backward()\nexcept RuntimeError:\n    pass"
    assert book.run(source).texts == []
    assert "(caught by the program)" in book.run("%%afterward\n" + source).text
    assert book.run("%afterward report").text.count("(caught by the program)") == 2


def test_modules_imported_from_cells_are_marked_and_reloaded(
    book: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "steps_of_a_notebook.py"
    module.write_text("def step(model, x):\n    loss = model(x).sum()\n    loss.backward()\n    return loss\n")
    book.run("import steps_of_a_notebook as steps")
    text = book.run("loss = steps.step(model, x)\nloss.backward()").text
    assert re.search(r"::: .*steps_of_a_notebook\.py:2", text)
    assert "--> In[4]:2:1" in text
    module.write_text(
        "# new\ndef step(model, x):\n    loss = model(x).sum()\n    loss.backward()\n    loss.backward()\n"
    )
    book.run("import importlib\n_ = importlib.reload(steps)")
    text = book.run("steps.step(model, x)").text
    assert re.search(r"--> .*steps_of_a_notebook\.py:5:5\n3 \|     loss = model\(x\)\.sum\(\)\n", text)
    sys.modules.pop("steps_of_a_notebook")


def test_autoreload(book: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = tmp_path / "reloaded_in_a_notebook.py"
    module.write_text("def step(model, x):\n    return model(x).sum()\n")
    book.run("%load_ext autoreload\n%autoreload 2")
    book.run("import reloaded_in_a_notebook as steps\nsteps.step(model, x).backward()")
    module.write_text("\n\ndef step(model, x):\n    loss = model(x).sum()\n    loss.backward()\n    loss.backward()\n")
    text = book.run("steps.step(model, x)").text
    assert re.search(r"--> .*reloaded_in_a_notebook\.py:6:5\n4 \|     loss = model\(x\)\.sum\(\)\n", text)
    sys.modules.pop("reloaded_in_a_notebook")


def test_run_of_a_file(book: Notebook, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(SETUP + "z = model(x).sum()\nz.backward()\nz.backward()\n")
    cell = book.run(f"%run {file}")
    assert re.search(r"--> .*train\.py:9:1", cell.text)
    assert "notebook.py" not in cell.printed
    file.write_text("answer = 42\n")
    assert book.run(f"%run {file}\nanswer").result.result == 42


def test_watch_joins_the_notebook(book: Notebook) -> None:
    book.run("import afterward")
    assert book.run("with afterward.watch() as run:\n    model(x).sum().backward()").texts == []
    assert book.run("run.report().findings").result.result == ()
    failing = "with afterward.watch() as run:\n    z = model(x).sum()\n    z.backward()\n    z.backward()"
    assert "--> In[6]:4:5" in book.run(failing).text
    assert book.run("[(f.code, f.caught) for f in run.report().findings]").result.result == [("AFT101", False)]
    assert "error[AFT101]" in book.run("z = model(x).sum()\nz.backward()\nz.backward()").text


def test_watch_alone_names_cells(bare: Notebook) -> None:
    bare.run(SETUP + "import afterward")
    failing = "with afterward.watch() as run:\n    z = model(x).sum()\n    z.backward()\n    z.backward()"
    bare.run(failing)
    (found,) = bare.run("run.report().findings").result.result
    assert (found.reused.file, found.reused.line, found.built.line) == ("In[2]", 4, 2)


def test_what_out_holds_may_be_the_bridge(book: Notebook) -> None:
    book.run("model[0](x).tanh()")
    book.run("model[2](Out[3]).mean().backward()")
    text = book.run("model[2](Out[3]).sum().backward()").text
    assert "`Out[3]`" in text


def test_nothing_is_kept_alive(book: Notebook) -> None:
    book.run("z = model(x).sum()\nz.backward()")
    gone = weakref.ref(book.shell.user_ns["z"])
    book.run("try:\n    z.backward()\nexcept RuntimeError:\n    pass")
    book.run("del z")
    gc.collect()
    assert gone() is None


def test_source_is_data(book: Notebook) -> None:
    (page,) = book.run(
        """
        z = model(x).sum()  # </pre><script>alert(1)</script><img src=x onerror=alert(2)> "'&
        z.backward()
        z.backward(); evil = "</div><script>alert(3)</script>"
        """
    ).pages
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "&lt;/pre&gt;&lt;script&gt;" in page


def test_memory_grows_with_the_text_not_with_the_runs(book: Notebook) -> None:
    from afterward.integrations import notebook

    (extension,) = notebook._loaded.values()
    statements = extension.notebook._statements
    train = "def f(a):\n    return a + 1\nfor _ in range(2):\n    f(1)"
    book.run(train)
    size = len(statements)
    for _ in range(20):
        book.run(train)
    assert len(statements) == size


def test_a_compiler_of_bytecode_sees_functions_as_they_were_written(book: Notebook) -> None:
    book.run("try:\n    import numba\nexcept ImportError:\n    pass")
    book.run("def f(a):\n    return a + 1")
    assert "__afterward_return__" not in book.shell.user_ns["f"].__code__.co_names


def test_a_compiler_of_bytecode_that_was_there_before(bare: Notebook) -> None:
    numba = ModuleType("numba")
    bare.shell.user_ns["nb"] = numba
    bare.run("%load_ext afterward")
    bare.run("def f(a):\n    return a + 1")
    assert "__afterward_return__" not in bare.shell.user_ns["f"].__code__.co_names


def test_numbers_that_begin_anew(book: Notebook) -> None:
    book.run("z = model(x).sum()\nz.backward()")
    book.shell.execution_count = 1
    book.shell.user_ns["In"][:] = [""]
    book.run("1")
    book.run("2")
    text = book.run("z.backward()").text
    assert "In[3] (2):1:1" in text
    assert "::: In[3]:1" in text


def test_silent_code_of_a_front_end_is_left_alone(book: Notebook) -> None:
    z = "z = model(x).sum()\nz.backward()\nz.backward()"
    assert book.run(z, silent=True, store_history=False).texts == []
    assert book.run("z.backward()").texts != []


def test_unloading_leaves_no_trace(bare: Notebook) -> None:
    shell = bare.shell

    def state() -> tuple[Any, ...]:
        return (
            list(shell.ast_transformers),
            list(shell.input_transformers_cleanup),
            {name: list(callbacks) for name, callbacks in shell.events.callbacks.items()},
            "afterward" in shell.magics_manager.magics["cell"],
            list(sys.meta_path),
            "compile" in vars(sys.modules[InteractiveShell.__module__]),
        )

    before = state()
    bare.run("%load_ext afterward")
    assert state() != before
    bare.run(SETUP + "\ndef f():\n    return model(x).sum()")
    bare.run("%unload_ext afterward")
    assert state() == before
    cell = bare.run("z = f()\nz.backward()\nz.backward()")
    assert cell.texts == []
    assert "second time" in cell.printed
    bare.run("%load_ext afterward")
    assert "error[AFT101]" in bare.run("z = f()\nz.backward()\nz.backward()").text


def test_a_wrong_word_is_a_usage_error(book: Notebook) -> None:
    assert "use `%afterward report`" in str(book.run("%afterward nonsense").result.error_in_exec)


def test_a_real_kernel(tmp_path: Path) -> None:
    """What a front end gets: the error first, then the diagnosis, as HTML and as text."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient").NotebookClient
    pytest.importorskip("ipykernel")
    cells = ["%load_ext afterward", SETUP, "loss = model(x).sum()\nloss", "loss.backward()", "loss.backward()"]
    cells += ["%%afterward\nimport asyncio\nawait asyncio.sleep(0)\nfor _ in range(3):\n    model(x).sum().backward()"]
    cells += ["%unload_ext afterward", "loss.backward()"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client(
        notebook, allow_errors=True, kernel_name="python3", timeout=120, resources={"metadata": {"path": tmp_path}}
    ).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert [len(shown) for shown in outputs] == [1, 0, 1, 0, 2, 1, 0, 1]
    assert outputs[2][0].output_type == "execute_result"
    error, shown = outputs[4]
    assert (error.output_type, shown.output_type) == ("error", "display_data")
    assert "--> In[5]:1:1" in shown.data["text/plain"]
    places = re.findall(r"::: (In\[\d\])", shown.data["text/plain"])
    assert places == ["In[3]", "In[4]", "In[5]"], "built, freed, used: in the order in which they ran"
    assert "needs values that In[4]&#x27;s `backward()` freed" in shown.data["text/html"]
    # A front end needs nothing but these two: no widget, no script, no style sheet, nothing to fetch.
    assert set(shown.data) == {"text/plain", "text/html"}
    assert not re.search(r"<(script|style|link|iframe)|class=|https?:|url\(", shown.data["text/html"])
    assert "widgets" not in notebook.metadata
    assert outputs[5][0].data["text/plain"] == "afterward: no problems in this cell; 3 backward passes watched"
    assert outputs[7][0].output_type == "error"


def test_the_terminal_gets_text(tmp_path: Path) -> None:
    cells = f"%load_ext afterward\n{SETUP.strip()}\nz = model(x).sum()\nz.backward()\nz.backward()\n"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "IPython",
            "--simple-prompt",
            "--no-banner",
            "--colors=nocolor",
            "--HistoryManager.enabled=False",
        ],
        input=cells,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    assert "error[AFT101]" in done.stdout, done.stderr
    assert "--> In[9]:1:1" in done.stdout
    assert "needs values that In[8]'s `backward()` freed" in done.stdout
    assert "<div" not in done.stdout
