"""`AfterwardCallback` for the Hugging Face Trainer: findings in its logs, and so in every writer that it reports to."""

from __future__ import annotations

import logging
from typing import Any

from transformers import TrainerCallback  # type: ignore[import-not-found, unused-ignore]

from afterward.integrations.program import watch
from afterward.render.text import as_text

log = logging.getLogger("afterward")


class AfterwardCallback(TrainerCallback):  # type: ignore[misc]
    """`Trainer(callbacks=[AfterwardCallback()])` watches `train`. Under `afterward run` it joins that watch.

    A backward pass that fails raises with the diagnosis as a note; what raises nothing is logged at the end.
    """

    def __init__(self) -> None:
        self._watch: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._watch = watch()
        self._watch.__enter__()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if self._watch is not None and isinstance(logs, dict):
            logs["afterward/findings"] = len(self._watch.report().findings)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._watch is not None:
            ending, self._watch = self._watch, None
            ending.__exit__(None, None, None)
            for found in ending.report().findings:
                log.warning("%s", as_text(found))
