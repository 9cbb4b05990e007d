"""Break the model on purpose, one way at a time, and see that an agreement run notices.

    python tools/mutate_model.py            # every mutant, up to 4000 random programs each
    python tools/mutate_model.py view       # only those with "view" in their name

A mutant that survives means the agreement run could not have told: the exit status is then 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIFE = Path("afterward") / "model" / "life"


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str


MUTANTS = [
    Mutant("frees although the graph is retained", "engine.py",
           "if not retain and not node.released:", "if not node.released:"),
    Mutant("never frees", "engine.py", "node.released = True", "node.released = False"),
    Mutant("forgets retain for custom functions", "engine.py",
           "if not retain and not node.released:",
           "if (not retain or kind is Kind.CUSTOM) and not node.released:"),
    Mutant("forgets retain for writes through views", "engine.py",
           "if not retain and not node.released:",
           "if (not retain or kind is Kind.COPY_SLICES) and not node.released:"),
    Mutant("a failed pass has freed nothing", "engine.py",
           "            outcome.fault, outcome.node = fault, node\n",
           "            outcome.fault, outcome.node = fault, node\n"
           "            for done in freed:\n                done.released = False\n"),
    Mutant("treats add as saving", "table.py",
           "tuple(owner(who) for _, who in saves), scales)",
           "tuple(owner(who) for _, who in saves) or ((OWN,) if name == 'AddBackward0' else ()), scales)"),
    Mutant("treats mul as saving nothing", "table.py",
           "tuple(owner(who) for _, who in saves), scales)",
           "() if name == 'MulBackward0' else tuple(owner(who) for _, who in saves), scales)"),
    Mutant("saves an argument, never a result", "recording.py",
           "if 0 <= owner < OWN:", "if 0 < owner < OWN:"),
    Mutant("ignores inputs=", "world.py",
           "wanted = None if targets is None else", "wanted = None if targets is None or not capture else"),
    Mutant("runs a node whose gradient is only handed back", "engine.py",
           "            if node not in wanted.needed:\n                continue\n", ""),
    Mutant("runs the oldest node first", "parts.py", "self.order = -number", "self.order = number"),
    Mutant("goes no further than a missing gradient", "engine.py",
           "            if wanted is None or target in wanted.needed",
           "            if sent[i] is None:\n                continue\n"
           "            if wanted is None or target in wanted.needed"),
    Mutant("create_graph does not retain", "world.py",
           "retain = create_graph if retain_graph is None else retain_graph\n        return",
           "retain = bool(retain_graph)\n        return"),
    Mutant("an optimizer step does not move the version", "world.py",
           "count_write(self.world.tape, leaf, symbol)", "leaf.storage.symbol = symbol"),
    Mutant("a write does not move the version", "histories.py",
           "target.version.count += 1", "target.version.count += 0"),
    Mutant("detach has a version of its own", "recording.py",
           "result = tape.handle(tensor.storage, tensor.version)\n    result.path",
           "result = tape.handle(tensor.storage, tensor.version and tape.fresh(0).version)\n    result.path"),
    Mutant("data shares the version", "recording.py",
           "result.version = tape.fresh(0).version", "pass"),
    Mutant("a write through a view leaves the base's history alone", "histories.py",
           "base.node, base.slot = around, 0", "pass"),
    Mutant("a write through a view can be used twice", "unpacking.py",
           "        if node.released:\n            return Fault.SECOND_TIME\n        assert node.inner",
           "        assert node.inner"),
    Mutant("a view keeps its old node after a write", "histories.py",
           "if tensor.seen != tensor.version.count:\n        refuse", "if tensor.seen < 0:\n        refuse"),
    Mutant("views that came together may be written to", "recording.py",
           "view.made = MadeAs.ONE_OF_MANY", "view.made = MadeAs.PLAIN"),
    Mutant("a view made under no_grad may be written to", "recording.py",
           "view.made = MadeAs.UNDER_NO_GRAD", "view.made = MadeAs.PLAIN"),
    Mutant("a leaf may be written to", "histories.py",
           "if target.is_leaf and needs_grad(target):", "if False:"),
    Mutant("a view of a leaf may be written to", "histories.py",
           "if needs_grad(target) and target.base.is_leaf:", "if False:"),
    Mutant("no_grad records", "world.py",
           "return self.grad_mode(False, self.tape.watches)", "return self.grad_mode(True, self.tape.watches)"),
    Mutant("enable_grad does not record", "world.py",
           "return self.grad_mode(True, self.tape.watches)", "return self.grad_mode(False, self.tape.watches)"),
    Mutant("inference tensors can be saved", "recording.py",
           "    if tensor.version is None:\n        raise Refused(Fault.INFERENCE_SAVED)\n", ""),
    Mutant("versions are compared under hooks too", "tape.py", "saved.version = None", "pass"),
    Mutant("a checkpoint's arguments may be written to", "unpacking.py",
           "        if saved.is_overwritten:\n            return _overwritten(saved, tape)\n        # A",
           "        # A"),
    Mutant("a checkpointed stretch saves as usual", "tape.py", "if self.region is not None:", "if False:"),
    Mutant("a leaf takes a gradient it no longer asks for", "engine.py",
           "if 0 in box and leaf.needs:", "if 0 in box:"),
    Mutant("an unused input goes unnoticed", "world.py",
           "outcome.fault = Fault.UNUSED", "pass"),
    Mutant("an unused input is noticed before the pass runs", "world.py",
           "            outcome.fault = Fault.UNUSED",
           "            outcome.fault = Fault.UNUSED\n            for node in outcome.freed:\n"
           "                node.released = False"),
    Mutant("a root may have many elements", "world.py",
           "root.elements not in (None, 1)", "False"),
    Mutant("a custom function looks at its values in any case", "unpacking.py",
           "        if not node.reads:\n            return None\n", "        pass\n"),
    Mutant("a custom function returns every gradient", "engine.py",
           "if node.returns and not all(node.returns):", "if False:"),
    Mutant("a node takes its number after its arguments' nodes", "recording.py",
           "        node = tape.node(plan.name)\n",
           "        for tensor in inputs:\n            gradient_edge(tape, tensor)\n"
           "        node = tape.node(plan.name)\n"),
    Mutant("a second gradient replaces the first", "gradients.py",
           "    leaf.arrivals.append(arrival)\n    symbol", "    leaf.arrivals[:] = [arrival]\n    symbol"),
    Mutant("retaining changes the gradient", "engine.py",
           "symbol = derivative(node)", "symbol = derivative(node) + retained"),
    Mutant("a recorded gradient is written to, not replaced", "gradients.py",
           '        leaf.grad = apply(tape, table()["add"], (leaf.grad, tensor))[0]',
           '        write(tape, table()["add_"], leaf.grad, (tensor,))'),
    Mutant("the derivative of sin is no function of its argument", "formulas.py",
           's.do("mul", s.gradient, s.do("cos", s.saved(0)))', 's.do("mul", s.gradient, s.gradient)'),
]  # fmt: skip


def broken_copy(mutant: Mutant, folder: Path) -> None:
    shutil.copytree(ROOT / "src" / "afterward", folder / "afterward", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / LIFE / mutant.file
    text = path.read_text()
    if mutant.old not in text:
        raise SystemExit(f"mutant {mutant.name!r}: its text is no longer in {mutant.file}")
    text = text.replace(mutant.old, mutant.new)
    if "+ retained" in mutant.new:
        text = text.replace("gradients_of(node, box)\n", "gradients_of(node, box, int(retain))\n")
        text = text.replace("box: dict[int, int]) ->", "box: dict[int, int], retained: int) ->")
    path.write_text(text)


ROUNDS = 5  # a rare break may need other programs: so many seeds are tried before it has survived


def is_caught(mutant: Mutant, count: int, seed: int) -> tuple[bool, str]:
    for number in range(ROUNDS):
        caught, how = _is_caught_by(mutant, count, seed + number)
        if caught:
            break
    return caught, how


def _is_caught_by(mutant: Mutant, count: int, seed: int) -> tuple[bool, str]:
    with tempfile.TemporaryDirectory() as name:
        broken_copy(mutant, Path(name))
        command = [sys.executable, str(ROOT / "tools" / "agree.py"), str(count), "--seed", str(seed), "--no-shrink"]
        environment = {**os.environ, "PYTHONPATH": name, "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if run.returncode not in (0, 1) or "Traceback" in run.stderr:
        raise SystemExit(f"mutant {mutant.name!r} could not be run:\n{run.stderr[-2000:]}")
    first = next((line for line in run.stdout.splitlines() if line.strip()), "")
    return run.returncode == 1, re.sub(r"\s+", " ", first)[:60]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.part in mutant.name]

    def judge(mutant: Mutant) -> tuple[Mutant, bool, str, float]:
        began = time.monotonic()
        caught, how = is_caught(mutant, options.count, options.seed)
        return mutant, caught, how, time.monotonic() - began

    survivors = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, caught, how, seconds in pool.map(judge, chosen):
            survivors += not caught
            verdict = "caught" if caught else "SURVIVED"
            print(f"{verdict:9} {seconds:5.0f} s  {mutant.name:55} {how}", flush=True)
    print(f"{len(chosen)} mutants, {len(chosen) - survivors} caught, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
