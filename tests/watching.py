"""Runs a piece of source under the observer, in this process, as `afterward run` would run a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch

from afterward.model.diagnosis import Diagnosis
from afterward.observe.marks import userfiles
from afterward.observe.marks.importing import imports_marked, marked_code
from afterward.observe.recording.session import Session
from afterward.tasks.run import Watched


@dataclass
class Seen:
    """What came of a program: its findings, the exception that ended it, its names, and the session."""

    findings: list[Diagnosis]
    error: BaseException | None
    names: dict[str, object]
    session: Session
    watched: Watched


def watch_source(source: str, folder: Path, name: str = "program.py") -> Seen:
    """Under test a gap of ours raises: `strict`."""
    file = folder / name
    file.write_text(source, encoding="utf-8")
    session = Session()
    session.strict = True
    watched = Watched(session)
    session.on_broken, session.on_again = watched.broken, watched.broken_again
    module = ModuleType("__program__")
    module.__dict__.update({"torch": torch, "__file__": str(file)})
    statements = session.recorders.statements
    error: BaseException | None = None
    with _tests_are_no_program(), imports_marked(statements, session.gap, session.imported), ExitStack() as hooks:
        hooks.callback(session.stop)  # whatever happens
        session.start()
        try:
            code = marked_code(source.encode(), str(file), statements, session.gap)
            exec(code, module.__dict__)
        except BaseException as raised:
            error = raised
        watched.look_into(error)
        if not watched.findings:
            # The survey at the end looks through the modules of the program: this is one, for once.
            sys.modules[module.__name__] = module
            hooks.callback(sys.modules.pop, module.__name__, None)
            watched.look_back()
    assert session.gaps == [], session.gaps
    return Seen(watched.findings, error, module.__dict__, session, watched)


@contextmanager
def _tests_are_no_program() -> Iterator[None]:
    """What the modules of the tests hold is not searched for names: it is much, and none of it is the program's."""
    here = os.path.dirname(os.path.realpath(__file__))
    userfiles._INSTALLED.add(here)
    _forget_answers()
    try:
        yield
    finally:
        userfiles._INSTALLED.discard(here)
        _forget_answers()


def _forget_answers() -> None:
    userfiles._is_installed.cache_clear()
    userfiles.is_user_file.cache_clear()
