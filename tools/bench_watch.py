"""What watching costs: one training loop, watched in several ways, side by side in one process.

    python tools/bench_watch.py [--rounds 400] [--steps 50] [--processes 3] [--device cpu] [--only tiny_mlp ...]

Every mode runs the same loop in turn, in short rounds and in a new order each time. A round gives one ratio, between
neighbours in time, so that all modes meet the same machine, in the same mood; a figure is the median of all rounds.
"plain again" is the control, a second copy of the plain loop: what differs from 1.00 there is noise. Dear modes run in
every tenth round. Hardly a round has a look at the graph in it, so what looks and tidying up take in a whole run of
10,000 steps, its first ones included, is told beside it, in milliseconds and as a ratio. The loops are small and bound
by operations, the worst case for a watcher: the less torch has to do, the more a mark weighs.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

WARM_UP = 20  # steps
SURVEYED = 80  # steps after which a watch has made its surveys, once per block
LOOPS = Path(__file__).parent / "bench_loops.py"
NAMES = ("tiny_mlp", "rnn_cell", "gru_by_hand", "gnn", "gan", "retained", "penalty", "scalar_ops")
ON_A_DEVICE = ("wide_mlp",)  # bound by the device, the others by launching
Mode = tuple[Callable[..., None], Callable[[], AbstractContextManager[object]]]
MODES = ("plain again", "afterward run", "looks", "afterward.watch()", "sys.settrace", "detect_anomaly")
DEAR = {"sys.settrace", "detect_anomaly"}
LONG = 10_000  # steps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", nargs="*", choices=(*NAMES, *ON_A_DEVICE), help="some of the loops")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.only = options.only or [*NAMES, *(ON_A_DEVICE if options.device != "cpu" else ())]
    if options.one:
        print(json.dumps(_measure(options)))
        return 0
    results = []
    for number in range(options.processes):
        print(f"process {number + 1} of {options.processes} ...", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--one", f"--rounds={options.rounds}", f"--steps={options.steps}"]
        done = subprocess.run(
            [*command, f"--device={options.device}", "--only", *options.only],
            capture_output=True,
            text=True,
            check=True,
        )
        results.append(json.loads(done.stdout.splitlines()[-1]))
    _table(results, options.only)
    return 0


def _table(results: list[dict[str, dict[str, float]]], names: list[str]) -> None:
    print(f"{'ratio to plain PyTorch':24}" + "".join(f"{mode:>24}" for mode in MODES))
    for name in names:
        cells = []
        for mode in MODES:
            values = [result[name][mode] for result in results]
            if mode == "looks":
                spent, steps = (
                    statistics.median(values),
                    statistics.median(result[name]["10,000"] for result in results),
                )
                cells.append(f"{spent:.0f} ms, {1 + spent / steps:.3f}")
                continue
            cells.append(f"{statistics.median(values):.3f} [{min(values):.2f}-{max(values):.2f}]")
        print(f"{name:24}" + "".join(f"{cell:>24}" for cell in cells))


def _measure(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    import torch

    from afterward.observe.recording.session import Session

    torch.set_num_threads(1)
    # On a CPU the process's own time: other processes on the machine then weigh less.
    clock = time.process_time if options.device == "cpu" else _device_clock
    plain, again = _load_plain(), _load_plain()
    found: dict[str, dict[str, float]] = {name: {} for name in options.only}

    def rounds(name: str, modes: dict[str, Mode], steps: int, number: int, warm_up: int = WARM_UP) -> None:
        ratios: dict[str, list[float]] = {mode: [] for mode in modes}
        order = list(modes)
        for iteration in range(number + 2):
            random.shuffle(order)
            spent: dict[str, float] = {}
            for mode in order:
                if mode in DEAR and iteration % 10:
                    continue
                loop, context = modes[mode]
                switch(mode == "afterward run")
                length = steps if mode != "detect_anomaly" else max(steps // 5, 5)
                with context():
                    loop(warm_up, options.device)  # the first passes are looked at, once per watch
                    start = clock()
                    loop(length, options.device)
                    spent[mode] = (clock() - start) / length
            if iteration > 1:  # the first rounds warm up
                for mode, time_of_step in spent.items():
                    ratios[mode].append(time_of_step / spent["plain"])
        for mode in modes:
            found[name][mode] = statistics.median(ratios[mode])

    switch: Callable[[bool], None] = bool  # nothing to switch yet
    for name in options.only:  # a watch of its own starts and stops a session: measured apart from the switched one
        modes: dict[str, Mode] = {
            "plain": (plain[name], nullcontext),
            "afterward.watch()": (plain[name], _watch_inside),
        }
        rounds(name, modes, 3 * options.steps, max(options.rounds // 20, 1), SURVEYED)
    for name in options.only:
        waiting_for_none = time.process_time if options.device == "cpu" else time.perf_counter
        found[name]["looks"], found[name]["10,000"] = _looks(name, options.device, waiting_for_none)
    marked, switch = _load_marked(Session())
    for name in options.only:
        modes = {
            "plain": (plain[name], nullcontext),
            "plain again": (again[name], nullcontext),
            "afterward run": (marked[name], nullcontext),
            "sys.settrace": (plain[name], _settrace),
            "detect_anomaly": (plain[name], lambda: torch.autograd.detect_anomaly(check_nan=True)),
        }
        rounds(name, modes, options.steps, options.rounds)
    return found


def _device_clock() -> float:
    """The time when all that was launched is done."""
    import torch

    torch.cuda.synchronize()
    return time.perf_counter()


def _load_plain() -> dict[str, Callable[..., None]]:
    space: dict[str, Callable[..., None]] = {}
    exec(compile(LOOPS.read_text(), str(LOOPS), "exec"), space)
    return space


def _looks(name: str, device: str, clock: Callable[[], float]) -> tuple[float, float]:
    """How long a long run is in our own functions, those that the tape calls now and then; and how long in others."""
    from afterward.observe.recording.session import Session

    spent = 0.0

    def timed(function: Callable[..., None]) -> Callable[..., None]:
        def measured(*args: object) -> None:
            nonlocal spent
            before, start = spent, clock()
            function(*args)
            spent = before + clock() - start  # one of these may call another

        return measured

    session = Session()
    looks = session.looks
    looks.begins, looks.stepped = timed(looks.begins), timed(looks.stepped)
    session.recorders.main.take_off = timed(session.recorders.main.take_off)
    marked, switch = _load_marked(session)
    switch(True)
    start = clock()
    marked[name](LONG, device)
    whole = clock() - start
    session.stop()
    return 1000 * spent, 1000 * (whole - spent)


def _load_marked(session):
    """The loops as `afterward run` would run them: compiled with marks, and a session that can be switched."""
    from afterward.observe.marks.marking import marking_of
    from afterward.observe.marks.rewrite import mark_module

    text = LOOPS.read_text()
    tree = mark_module(ast.parse(text), str(LOOPS), session.recorders.statements)
    session.recorders.statements.sources[str(LOOPS)] = text
    space: dict[str, Callable[..., None]] = {}
    switch = _Switch(session)
    exec(marking_of(session.recorders.statements).bind(compile(tree, str(LOOPS), "exec")), space)
    return space, switch


class _Switch:
    """Switches the hooks of a running session on for our own mode, and off for the others.

    Starting a session anew for each round would measure its start: names put into `builtins` make Python forget
    what it had learnt about every function that reads a builtin. It forgets a little with each switch, too, so every
    mode is switched to, plain ones as well.
    """

    def __init__(self, session) -> None:
        import torch
        import torch.optim.optimizer as optimizers

        self.entry = torch.autograd.graph._engine_run_backward
        plain = self.entry.__code__
        session.start()
        self.codes = {True: self.entry.__code__, False: plain}
        self.hooks = optimizers._global_optimizer_post_hooks
        self.hook = dict(self.hooks)

    def __call__(self, on: bool) -> None:
        self.entry.__code__ = self.codes[on]
        self.hooks.clear()
        if on:
            self.hooks.update(self.hook)


@contextmanager
def _watch_inside() -> Iterator[None]:
    import afterward

    with afterward.watch():
        yield


@contextmanager
def _settrace() -> Iterator[None]:
    """The cheapest useful tracer: a line event of the program's own file notes the node counter."""
    import torch

    counter = torch._C._autograd._get_sequence_nr
    lines: list[tuple[int, int]] = []

    def local(frame, event, argument):
        if event == "line":
            lines.append((frame.f_lineno, counter()))
        return local

    def enter(frame, event, argument):
        return local if frame.f_code.co_filename == str(LOOPS) else None

    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(None)


if __name__ == "__main__":
    sys.exit(main())
