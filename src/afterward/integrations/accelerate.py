"""A watch for a loop that Accelerate prepares: findings in its log and in each of its trackers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from afterward.integrations.program import watch
from afterward.integrations.writers import write_findings
from afterward.render.text import as_text


@contextmanager
def watched(accelerator: Any) -> Iterator[Any]:
    """`with watched(accelerator): train()`: a failing backward raises with the diagnosis as a note, as ever.

    At the end the main process prints what raised nothing and is wrong, and each tracker of the accelerator gets it.
    """
    run = watch()
    try:
        with run:
            yield run
    finally:
        findings = run.report().findings
        for found in findings:
            accelerator.print(as_text(found))
        for tracker in accelerator.trackers if accelerator.is_main_process else ():
            write_findings(tracker.tracker, findings)
