"""Real frameworks: one wrong program and the same put right, each in a process of its own; skipped where not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

LIGHTNING = """
import logging, warnings
import lightning as L, torch
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.manual_seed(0)

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.cell, self.head = torch.nn.GRUCell(4, 8), torch.nn.Linear(8, 1)
        self.hidden = torch.zeros(2, 8)

    def training_step(self, batch, batch_idx):
        self.hidden = self.cell(batch, self.hidden{cut})
        return self.head(self.hidden).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

data = torch.utils.data.DataLoader(torch.randn(24, 4), batch_size=2)
off = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
L.Trainer(max_epochs=1, accelerator="cpu", **off).fit(Model(), data)
"""

TRAINER = """
import torch
from transformers import Trainer, TrainingArguments
torch.manual_seed(0)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)

    def forward(self, x, labels=None):
        h = torch.tanh(self.body(x))
        return {{"hidden": h, "loss": (self.head(h).squeeze(-1) - labels).pow(2).mean()}}

class Smooth(Trainer):
    previous = None

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(**inputs)
        loss = out["loss"]
        if self.previous is not None:
            loss = loss + 0.1 * (out["hidden"] - self.previous).pow(2).mean()
        self.previous = out["hidden"]{cut}
        return (loss, out) if return_outputs else loss

data = [{{"x": torch.randn(4), "labels": torch.randn(())}} for _ in range(24)]
off = dict(report_to=[], disable_tqdm=True, save_strategy="no")
args = TrainingArguments("out", use_cpu=True, max_steps=12, per_device_train_batch_size=2, **off)
Smooth(model=Model(), args=args, train_dataset=data).train()
"""

BASELINES = """
import gymnasium as gym, torch
from stable_baselines3 import PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

class Memory(BaseFeaturesExtractor):
    def __init__(self, space):
        super().__init__(space, features_dim=8)
        self.embed = torch.nn.Linear(space.shape[0], 8)
        self.state = torch.zeros(1, 8)

    def forward(self, observations):
        x = torch.tanh(self.embed(observations))
        self.state = 0.9 * self.state{cut} + 0.1 * x.mean(0, keepdim=True)
        return x + self.state

kinds = dict(features_extractor_class=Memory)
model = PPO("MlpPolicy", gym.make("CartPole-v1"), n_steps=64, batch_size=16, seed=0, device="cpu", policy_kwargs=kinds)
model.learn(64)
"""

ACCELERATE = """
import torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
cell, head = torch.nn.GRUCell(4, 8), torch.nn.Linear(8, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
cell, head, opt = accelerator.prepare(cell, head, opt)
hidden = torch.zeros(2, 8)
for step in range(12):
    hidden = cell(torch.randn(2, 4), hidden{cut})
    opt.zero_grad()
    accelerator.backward(head(hidden).pow(2).mean())
    opt.step()
"""

# package: (program, the bridge)
PROGRAMS = {
    "lightning": (LIGHTNING, "self.hidden"),
    "transformers": (TRAINER, "self.previous"),
    "stable_baselines3": (BASELINES, "self.state"),
    "accelerate": (ACCELERATE, "hidden"),
}


def _findings(folder: Path, program: str) -> tuple[int, list[dict[str, object]], str]:
    (folder / "train.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "afterward", "run", "--format", "json", "--out", "report.json", "train.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    return done.returncode, json.loads((folder / "report.json").read_text())["findings"], done.stderr


@pytest.mark.parametrize("package", PROGRAMS)
def test_a_state_that_is_carried_is_named(package: str, tmp_path: Path) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    program, bridge = PROGRAMS[package]
    status, findings, said = _findings(tmp_path, program.format(cut=""))
    assert (status, [one["code"] for one in findings]) == (1, ["AFT103"]), said
    (found,) = findings
    assert found["bridge"]["name"] == bridge
    assert (found["freed"]["step"], found["reused"]["step"]) == (1, 2)
    assert found["remedies"][0]["kind"] == "detach_state"


@pytest.mark.parametrize("package", PROGRAMS)
def test_the_same_put_right_is_left_alone(package: str, tmp_path: Path) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    status, findings, said = _findings(tmp_path, PROGRAMS[package][0].format(cut=".detach()"))
    assert (status, findings) == (0, []), said


CALLBACKS = {
    "lightning": ("Trainer(max_epochs=1, ", "Trainer(max_epochs=1, callbacks=[AfterwardCallback()], "),
    "transformers": ("train_dataset=data)", "train_dataset=data, callbacks=[AfterwardCallback()])"),
}


@pytest.mark.parametrize("package", CALLBACKS)
def test_a_callback_explains_without_a_command(package: str, tmp_path: Path) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    plain, with_callback = CALLBACKS[package]
    program = f"from afterward.integrations.{package} import AfterwardCallback\n" + PROGRAMS[package][0].format(cut="")
    (tmp_path / "train.py").write_text(program.replace(plain, with_callback))
    env = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, env=env)
    assert done.returncode == 1
    assert "error[AFT103]" in done.stderr, done.stderr


WRITTEN = """
import torch
from transformers import Trainer, TrainingArguments
from afterward.integrations.transformers import AfterwardCallback

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.kept = torch.nn.Linear(4, 1), []

    def forward(self, x, labels=None):
        loss = (self.net(x).squeeze(-1) - labels).pow(2).mean()
        self.kept.append(loss)
        return {"loss": loss}

data = [{"x": torch.randn(4), "labels": torch.randn(())} for _ in range(64)]
off = dict(report_to=["tensorboard"], disable_tqdm=True, save_strategy="no", logging_steps=8)
args = TrainingArguments("out", use_cpu=True, max_steps=16, per_device_train_batch_size=4, **off)
Trainer(model=Model(), args=args, train_dataset=data, callbacks=[AfterwardCallback()]).train()
"""


def test_the_trainers_own_writers_get_the_findings(tmp_path: Path) -> None:
    if find_spec("transformers") is None or find_spec("tensorboard") is None:
        pytest.skip("transformers or tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (tmp_path / "train.py").write_text(WRITTEN)
    env = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TENSORBOARD_LOGGING_DIR": str(tmp_path / "tb")}
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    read = EventAccumulator(str(tmp_path / "tb"))
    read.Reload()
    assert {one.value for one in read.Scalars("train/afterward/findings")} == {0}  # it is known at the end
    assert [one.value for one in read.Scalars("afterward/findings")] == [1]
    assert b"AFT301" in read.Tensors("afterward/report/text_summary")[-1].tensor_proto.string_val[0]
