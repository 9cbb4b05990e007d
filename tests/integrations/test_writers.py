"""Findings in TensorBoard, Weights & Biases and MLflow, by their own writers, and in Accelerate's trackers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import afterward
from afterward.integrations.writers import COUNT, REPORT, write_findings
from afterward.model.diagnosis import Diagnosis


def _twice() -> None:
    weight = torch.ones(3, requires_grad=True)
    loss = (weight * weight).sum()
    loss.backward()
    loss.backward()


def _carried(backward: Callable[[torch.Tensor], None]) -> None:
    cell, state = torch.nn.RNNCell(2, 2), torch.zeros(1, 2)
    for _ in range(3):
        state = cell(torch.ones(1, 2), state)
        backward(state.sum())


@pytest.fixture
def findings() -> tuple[Diagnosis, ...]:
    with pytest.raises(RuntimeError, match="second time"), afterward.watch() as run:
        _twice()
    return run.report().findings


def test_tensorboard(findings: tuple[Diagnosis, ...], tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        assert write_findings(writer, findings, 7)
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    assert [(one.step, one.value) for one in read.Scalars(COUNT)] == [(7, 1.0)]
    assert b"AFT101" in read.Tensors(f"{REPORT}/text_summary")[0].tensor_proto.string_val[0]


def test_weights_and_biases_offline(
    findings: tuple[Diagnosis, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(project="p", mode="offline", dir=str(tmp_path))
    assert write_findings(run, findings)
    assert run.summary[COUNT] == 1
    assert "AFT101" in run.summary[REPORT]
    run.finish()


@pytest.mark.parametrize("by_client", [False, True])
def test_mlflow(findings: tuple[Diagnosis, ...], tmp_path: Path, by_client: bool) -> None:
    mlflow = pytest.importorskip("mlflow")
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        client = mlflow.MlflowClient()
        name = run.info.run_id
        assert write_findings(client, findings, run=name) if by_client else write_findings(mlflow, findings)
        assert client.get_run(name).data.metrics == {COUNT: 1.0}
        assert "AFT101" in mlflow.artifacts.load_text(f"runs:/{name}/{REPORT}.txt")


def test_an_unknown_writer_is_left_alone(findings: tuple[Diagnosis, ...]) -> None:
    assert not write_findings(print, findings)


def test_accelerate() -> None:
    accelerate = pytest.importorskip("accelerate")
    from afterward.integrations.accelerate import watched

    class Tracker(accelerate.tracking.GeneralTracker):
        name, requires_logging_directory, written = "own", False, {}

        @property
        def tracker(self):
            return self

        def log_metric(self, key, value, step=None):
            self.written[key] = value

        def log_text(self, text, file):
            self.written[file] = text

        def store_init_configuration(self, values):
            pass

    accelerator = accelerate.Accelerator(cpu=True, log_with=[Tracker()])
    accelerator.init_trackers("p")
    with pytest.raises(RuntimeError, match="second time"), watched(accelerator):
        _carried(accelerator.backward)
    assert Tracker.written[COUNT] == 1
    assert "AFT103" in Tracker.written[f"{REPORT}.txt"]
