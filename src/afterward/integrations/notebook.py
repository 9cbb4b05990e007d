"""`%load_ext afterward`: a cell whose backward pass fails shows the diagnosis under its traceback.

IPython tells us when a cell begins and ends, and hands us its syntax tree in between: there it gets its marks. The
traceback is IPython's own; what we have to say is displayed after it.
"""

from __future__ import annotations

import ast
import linecache
import sys
from dataclasses import dataclass, field
from typing import Any

from afterward.integrations.notebook_view import Findings, Shown
from afterward.model.diagnosis import Report
from afterward.model.saved import Chapter, SavedRun
from afterward.render.lifeline import picture
from afterward.render.terminal import wants_colour
from afterward.render.text import forget_sources
from afterward.tasks.notebook import CellReport, Notebook
from afterward.tasks.since import Start

_MAGIC = "%%afterward"
_USAGE = "use `%afterward report`, or `%%afterward` as the first line of a cell"
_loaded: dict[int, Extension] = {}  # by the identity of the shell


def load(shell: Any) -> None:
    """Watch the cells of this shell from here on."""
    if id(shell) not in _loaded:
        extension = Extension(shell)
        extension.load()
        _loaded[id(shell)] = extension
        print("afterward: watching the cells that follow; `%afterward report` shows all findings so far")


def unload(shell: Any) -> None:
    """Leave everything as it was."""
    extension = _loaded.pop(id(shell), None)
    if extension is not None:
        extension.unload()


@dataclass
class _Running:
    """A cell that is running. Cells nest: `%%capture` runs its cell from within a cell."""

    info: Any
    name: str
    raw: str
    text: str
    start: Start
    offset: int | None = 0  # lines into the outermost cell; None where its text does not come from there
    in_full: bool = False
    seen: bool = field(default=False)  # its own syntax tree has come by: another one is a magic's
    # Which exception was shown last when it began: by its identity, for it must not live longer than without us.
    shown: int = field(default_factory=lambda: id(getattr(sys, "last_value", None)))


class Extension:
    """One shell's hooks."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.notebook = Notebook()
        self.running: list[_Running] = []

    def load(self) -> None:
        self.notebook.start()
        for module in _running_files():
            vars(module)["compile"] = self.compile_file
        self.shell.events.register("pre_run_cell", self.cell_begins)
        self.shell.events.register("post_run_cell", self.cell_ends)
        self.shell.ast_transformers.append(self)
        self.shell.input_transformers_cleanup.append(without_our_line)
        self.shell.register_magic_function(self.magic, "line_cell", "afterward")

    def unload(self) -> None:
        self.shell.events.unregister("pre_run_cell", self.cell_begins)
        self.shell.events.unregister("post_run_cell", self.cell_ends)
        if self in self.shell.ast_transformers:
            self.shell.ast_transformers.remove(self)
        self.shell.input_transformers_cleanup.remove(without_our_line)
        for kind in ("line", "cell"):
            self.shell.magics_manager.magics[kind].pop("afterward", None)
        for module in _running_files():
            vars(module).pop("compile", None)
        self.notebook.stop()

    # What IPython calls. None of these may raise.

    def cell_begins(self, info: Any) -> None:
        try:
            self.running.append(self._running(info))
        except Exception as error:
            self._failed("a cell could not be watched", error)

    def visit(self, tree: Any) -> Any:
        """IPython's hook for syntax trees: of each cell, and of what magics such as `%%time` run."""
        if not self.running or not isinstance(tree, ast.Module):
            return tree  # a front end's own code, run silently
        try:
            return self._marked(tree, self.running[-1])
        except Exception as error:
            self._failed("a cell could not be marked", error)
            return tree

    def cell_ends(self, result: Any) -> None:
        if not self.running or (result is not None and result.info is not self.running[-1].info):
            return  # an empty cell, or the one that loaded us
        cell = self.running.pop()
        if self.running:
            self.running[-1].in_full |= cell.in_full
            return
        try:
            error = self._error_of(result, cell)
            report = self.notebook.over(cell.start, error, silent=cell.in_full)
            self._report_cell(cell, report, ended_well=error is None)
        except Exception as failure:
            self._failed("a cell could not be reported on", failure)

    def compile_file(self, source: Any, file: Any, mode: str, *more: Any, **options: Any) -> Any:
        """What IPython calls `compile` where it runs a file: `%run train.py` is then run with marks."""
        code = None
        if isinstance(source, bytes) and mode == "exec" and not more and not options:
            code = self.notebook.file_code(source, str(file))
        return code if code is not None else compile(source, file, mode, *more, **options)

    # Cells

    def _running(self, info: Any) -> _Running:
        raw = info.raw_cell
        text = getattr(info, "transformed_cell", None) or self.shell.transform_cell(raw)
        in_full = _asks_for_report(raw)
        if self.running:
            outer = self.running[-1]
            at = _lines_before(outer.raw, raw)
            inner = None if at is None or outer.offset is None else outer.offset + at
            return _Running(info, outer.name, raw, text, outer.start, inner, in_full)
        number = len(self.shell.user_ns["In"]) if info.store_history else self.shell.execution_count
        return _Running(info, f"In[{number}]", raw, text, self.notebook.now(), 0, in_full)

    def _marked(self, tree: ast.Module, cell: _Running) -> ast.Module:
        if len(self.running) == 1 and not cell.seen:
            cell.seen = True
            return self.notebook.begin(tree, cell.name, cell.text)
        if not cell.seen and cell.offset is not None:
            cell.seen = True
            return self.notebook.inside(
                tree, _with_lines_before(self.running[0].raw, cell.text, cell.offset), cell.offset
            )
        return self._marked_part(tree, cell)

    def _marked_part(self, tree: ast.Module, cell: _Running) -> ast.Module:
        """What a cell magic runs is the rest of its cell; other trees are left alone."""
        wanted = ast.dump(tree)
        lines = cell.raw.splitlines(keepends=True)
        for count in range(1, len(lines)):
            if not lines[count - 1].startswith("%%") or cell.offset is None:
                break
            text = self.shell.transform_cell("".join(lines[count:]))
            try:
                same = ast.dump(ast.parse(text)) == wanted
            except SyntaxError:
                continue
            if same:
                offset = cell.offset + count
                return self.notebook.inside(tree, _with_lines_before(self.running[0].raw, text, offset), offset)
        return tree

    def _error_of(self, result: Any, cell: _Running) -> BaseException | None:
        """What ended the cell. A magic may have shown an exception and swallowed it."""
        error: BaseException | None = result.error_in_exec or result.error_before_exec if result is not None else None
        if error is None:
            shown = getattr(sys, "last_value", None)
            told = self.notebook.findings_of(shown) if shown is not None else ()
            if told and id(shown) != cell.shown and min(told) >= cell.start.findings:
                error = shown
        return error

    # Telling

    def _report_cell(self, cell: _Running, report: CellReport, *, ended_well: bool) -> None:
        if cell.in_full and (report.findings or ended_well):
            pictures = self._pictures(report.findings, report.chapters)
            self._show(Shown(report.findings, _closing(report), report.gaps, pictures), report.findings)
        elif report.raised:
            pictures = self._pictures(report.findings, report.chapters)[: len(report.raised)]
            self._show(Shown(report.raised, pictures=pictures), report.raised)

    def _show(self, shown: Shown, findings: Findings) -> None:
        forget_sources()
        for name, text in self.notebook.texts(findings).items():
            lines = text.splitlines(keepends=True)
            linecache.cache[name] = (len(text), None, lines, name)
        if not hasattr(self.shell, "kernel") and wants_colour(sys.stdout):  # a kernel's front end is no terminal
            shown.print_coloured(sys.stdout)
            return
        from IPython.display import display

        display(shown)  # type: ignore[no-untyped-call]

    def magic(self, line: str, cell: str | None = None) -> None:
        """`%afterward report`: all findings so far, those that raise nothing included.

        `%%afterward` as the first line of a cell: run it, and report on it in full.
        """
        if cell is not None:
            if self.running:
                self.running[-1].in_full = True
            self.shell.run_cell(cell)
            return
        if line.strip() not in ("", "report"):
            from IPython.core.error import UsageError

            raise UsageError(_USAGE)
        report, chapters = self.notebook.report()
        closing = "" if report.findings else f"afterward: no problems so far; {report.summary}"
        pictures = self._pictures(report.findings, chapters)
        self._show(Shown(report.findings, closing, report.gaps, pictures), report.findings)

    def _pictures(self, findings: Findings, chapters: tuple[Chapter, ...]) -> tuple[str, ...]:
        """The life line of each finding, where its history is kept. A drawing that fails costs no report."""
        run = SavedRun(Report(("notebook",), findings), chapters, self.notebook.sources)
        try:
            return tuple(picture(run, number) or "" for number in range(len(findings)))
        except Exception as error:
            self.notebook.gap(f"no picture could be drawn: {type(error).__name__}: {error}")
            return ()

    def _failed(self, what: str, error: Exception) -> None:
        self.notebook.gap(f"{what}: {type(error).__name__}: {error}")
        print(f"afterward: {what} ({type(error).__name__}: {error}); the notebook goes on", file=sys.stderr)


def _running_files() -> list[Any]:
    """The modules of IPython that read and compile a file for `%run`: one or the other, by its version."""
    names = ("IPython.core.interactiveshell", "IPython.utils.py3compat")
    return [sys.modules[name] for name in names if name in sys.modules]


def without_our_line(lines: list[str]) -> list[str]:
    """Takes `%%afterward` away from the top of a cell: the rest is run as ever, its lines where they were."""
    if not lines or lines[0].split(maxsplit=1)[:1] != [_MAGIC]:
        return lines
    rest = lines[1:]
    if rest and rest[0].startswith("%%"):
        return rest  # another magic has to be the first line
    return ["\n", *rest]


def _asks_for_report(raw: str) -> bool:
    """Is `%%afterward` among the magics on top of a cell?"""
    for line in raw.lstrip().splitlines():
        if not line.startswith("%%"):
            return False
        if line.split(maxsplit=1)[0] == _MAGIC:
            return True
    return False


def _lines_before(outer: str, inner: str) -> int | None:
    """How many lines of the outer cell come before the inner one, which is its end."""
    whole, part = outer.rstrip("\n"), inner.rstrip("\n")
    if not part or not whole.endswith(part):
        return None
    return whole[: len(whole) - len(part)].count("\n")


def _with_lines_before(raw: str, text: str, offset: int) -> str:
    """The text of a part, preceded by the lines of the cell above it, as comments: its lines are then the cell's."""
    before = raw.splitlines()[:offset]
    return "".join(f"# {line}\n" for line in before) + text


def _closing(report: CellReport) -> str:
    if report.findings:
        return ""
    if not report.passes:
        return "afterward: no backward pass in this cell"
    passes = f"{report.passes:,} backward pass{'es' if report.passes != 1 else ''}"
    return f"afterward: no problems in this cell; {passes} watched"
