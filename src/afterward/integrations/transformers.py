"""`AfterwardCallback` for the Hugging Face Trainer: findings in its logs, and so in every writer that it reports to."""

from __future__ import annotations

import logging
import sys
from typing import Any

from transformers import TrainerCallback  # type: ignore[import-not-found, unused-ignore]

from afterward.integrations.program import watch
from afterward.integrations.writers import COUNT, write_findings
from afterward.render.text import as_text

log = logging.getLogger("afterward")

WRITERS = ("tb_writer", "_wandb", "_ml_flow")  # what the Trainer's own callbacks call the writers that they report to


class AfterwardCallback(TrainerCallback):  # type: ignore[misc]
    """`Trainer(callbacks=[AfterwardCallback()])` watches `train`. Under `afterward run` it joins that watch.

    A backward pass that fails raises with the diagnosis as a note; what raises nothing is logged at the end.
    """

    def __init__(self) -> None:
        self._watch: Any = None
        self._others: list[Any] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._others = _before_others(self, sys._getframe(1).f_locals.get("self"))
        self._watch = watch()
        self._watch.__enter__()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if self._watch is not None and isinstance(logs, dict):
            logs[COUNT] = len(self._watch.report().findings)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._watch is not None:
            ending, self._watch = self._watch, None
            ending.__exit__(None, None, None)
            findings = ending.report().findings
            for found in findings:
                log.warning("%s", as_text(found))
            for writer in (getattr(other, name, None) for other in self._others for name in WRITERS):
                if writer is not None:
                    write_findings(writer, findings, state.global_step)
            self._others = []


def _before_others(callback: Any, handler: Any) -> list[Any]:
    """The Trainer's callbacks. Those that it reports by come first, with what `on_log` has been given, and close their
    writers; from now on they come after ours."""
    callbacks = getattr(handler, "callbacks", None)
    if not isinstance(callbacks, list) or callback not in callbacks:
        return []  # called by hand
    callbacks.insert(0, callbacks.pop(callbacks.index(callback)))
    return list(callbacks)
