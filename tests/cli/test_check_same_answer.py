"""One tree, one answer: whatever the number of processes, the cache, and what else the machine does."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import afterward
from afterward.tasks.check_file import Shared, check_file
from afterward.tasks.check_files import Worker

# Much to do before the fault: only the budget decides whether the check comes to it.
LONG = """\
import torch, helper
net, total = helper.Net(), 0
for epoch in range({epochs}):
    for number in range(40):
        total = total + epoch * number % 7
        if total % 3 == number % 5: total += epoch
loss = net(torch.randn(2, 4)).pow(2).sum()
loss.backward()
loss.backward()
"""
RECORD = """\
import torch, helper
from package import layers
net = layers.Stack({width})
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []
for step in range(100):
    loss = net(torch.randn(2, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)
"""
FILES = {
    "helper.py": "import torch\nfrom package import layers\nSEEN = []\nclass Net(layers.Base):\n    pass\n",
    "package/__init__.py": "from package.layers import Base\n",
    "package/layers.py": "import torch\nimport package\nWIDTHS = [w * 2 for w in range(200)]\n"
    "class Base(torch.nn.Linear):\n    def __init__(self):\n        super().__init__(4, 4)\n"
    "class Stack(torch.nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
    "        self.all = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(width)])\n"
    "    def forward(self, x):\n        for one in self.all:\n            x = one(x).relu()\n        return x\n",
    **{f"long_{n}.py": LONG.format(epochs=20 * n) for n in range(8)},
    **{f"record_{n}.py": RECORD.format(width=n + 1) for n in range(8)},
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def answer(folder: Path, cache: Path, *words: str) -> str:
    command = [sys.executable, "-m", "afterward", "check", "--format", "json", "--show-gaps", *words, "."]
    environment = {**os.environ, "AFTERWARD_CACHE": str(cache)}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 1, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def plain(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return answer(tree, tmp_path_factory.mktemp("none"), "--no-cache", "--jobs", "1")


@pytest.fixture
def busy() -> Iterator[None]:
    """More processes that never rest than there are cores."""
    spinning = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1) + 1)
    ]
    yield
    for process in spinning:
        process.kill()
        process.wait()


def test_the_tree_has_something_to_find(plain: str) -> None:
    assert "AFT101" in plain
    assert "AFT301" in plain


def test_jobs_do_not_change_it(tree: Path, tmp_path: Path, plain: str) -> None:
    assert answer(tree, tmp_path, "--no-cache", "--jobs", "8") == plain


def test_a_warm_cache_does_not_change_it(tree: Path, tmp_path: Path, plain: str) -> None:
    assert [answer(tree, tmp_path) for _ in range(2)] == [plain, plain]


def test_a_busy_machine_does_not_change_it(tree: Path, tmp_path: Path, plain: str, busy: None) -> None:
    assert [answer(tree, tmp_path, "--jobs", "8"), answer(tree, tmp_path)] == [plain, plain]


def test_files_that_were_checked_before_do_not_change_it(tree: Path) -> None:
    files = sorted(str(file) for file in tree.rglob("*.py"))
    forward, backward = Worker(), Worker()
    one = {file: forward.check(file) for file in files}
    other = {file: backward.check(file) for file in reversed(files)}
    alone = {file: check_file(file, Shared()) for file in files}
    assert one == other == alone


def test_the_interpreter_has_no_clock() -> None:
    for file in (Path(afterward.__file__).parent / "interpret").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            module = getattr(node, "module", None)
            assert "time" not in (*names, module), file
