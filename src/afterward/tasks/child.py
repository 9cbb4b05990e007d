"""A process that a watched program started: watched from its first line to its end."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack

from afterward.tasks.children import ASKED, Household
from afterward.tasks.run import Watched, joinable, running


def begin(folder: str, *, alone: bool = False) -> Household | None:
    """Watch this process to its end, from before its main module is loaded. `alone`: nothing else tells of its life."""
    from afterward.observe.marks.importing import imports_marked
    from afterward.observe.recording.children import children_announced, mark_main
    from afterward.observe.recording.session import Session

    if running:
        return None
    session = Session()
    household = Household(Watched(session), folder)
    try:
        if ASKED in os.environ:
            from afterward.tasks.rank_trial import join_trial

            join_trial(household)
        hooks = ExitStack()
        atexit.register(hooks.close)  # registered first, so called last: they go while Python is still whole
        statements = session.recorders.statements
        hooks.enter_context(imports_marked(statements, session.gap, session.imported))
        hooks.enter_context(joinable(household.watched))
        hooks.enter_context(children_announced(household))
        mark_main(statements, session.gap)
        session.start()
        if alone:
            household.began()
    except Exception as failure:
        session.failed_open("a process that the program started is not watched", failure)
        return None
    return household
