"""`AfterwardCallback` for Lightning: the diagnosis in its logs, and findings as scalars and text in its loggers."""

from __future__ import annotations

import logging
from typing import Any

from lightning.pytorch import Callback  # type: ignore[import-not-found, unused-ignore]

from afterward.integrations.program import watch
from afterward.integrations.writers import COUNT, write_findings
from afterward.render.text import as_text

log = logging.getLogger("afterward")


class AfterwardCallback(Callback):  # type: ignore[misc]
    """`Trainer(callbacks=[AfterwardCallback()])` watches `fit`. Under `afterward run` it joins that watch."""

    def __init__(self) -> None:
        self._watch: Any = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if stage == "fit" and self._watch is None:
            self._watch = watch()
            self._watch.__enter__()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._end(trainer, exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._end(trainer, None)

    def _end(self, trainer: Any, error: BaseException | None) -> None:
        if self._watch is None:
            return
        ending, self._watch = self._watch, None
        ending.__exit__(type(error) if error is not None else None, error, None)
        findings = ending.report().findings
        for found in findings:
            log.warning("%s", as_text(found))
        for logger in trainer.loggers:
            run = getattr(logger, "run_id", None) or ""
            if not write_findings(getattr(logger, "experiment", None), findings, trainer.global_step, run):
                logger.log_metrics({COUNT: float(len(findings))}, step=trainer.global_step)
