"""Findings where a training run is looked at: in TensorBoard, Weights & Biases and MLflow, by their own writers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from afterward.model.diagnosis import Diagnosis
from afterward.render.text import as_text

COUNT, REPORT = "afterward/findings", "afterward/report"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be written."""

    count: int
    text: str
    step: int
    run: str  # which of its runs an MLflow client is to write to


def write_findings(writer: Any, findings: Sequence[Diagnosis], step: int = 0, run: str = "") -> bool:
    """Write how many findings there are, and their text. False where the writer is of no known kind.

    A writer is a `SummaryWriter` of TensorBoard's, a run of Weights & Biases or `wandb` itself, `mlflow` itself or a
    client of it, with the name of its run.
    """
    entry = Entry(len(findings), "\n".join(as_text(found) for found in findings), step, run)
    for known_by, write in _WRITERS:
        if all(callable(getattr(writer, name, None)) for name in known_by):
            write(writer, entry)
            return True
    return False


def _to_tensorboard(writer: Any, entry: Entry) -> None:
    writer.add_scalar(COUNT, entry.count, entry.step)
    if entry.text:
        writer.add_text(REPORT, "    " + entry.text.replace("\n", "\n    "), entry.step)  # Markdown leaves it as it is


def _to_mlflow(writer: Any, entry: Entry) -> None:
    run = (entry.run,) if entry.run else ()
    writer.log_metric(*run, COUNT, entry.count, step=entry.step)
    if entry.text:
        writer.log_text(*run, entry.text, f"{REPORT}.txt")


def _to_wandb(writer: Any, entry: Entry) -> None:
    writer.log({COUNT: entry.count, **({REPORT: entry.text} if entry.text else {})})


_WRITERS: tuple[tuple[tuple[str, ...], Callable[[Any, Entry], None]], ...] = (
    (("add_scalar", "add_text"), _to_tensorboard),
    (("log_metric", "log_text"), _to_mlflow),
    (("log", "log_artifact"), _to_wandb),
)
