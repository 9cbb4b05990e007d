"""Feeds damaged files and messages to all that reads them, led by what of our code they reach.

    python tools/fuzz.py [TARGET ...] [--seconds 3600] [--seed 0]

Input that reaches a line of ours from another line for the first time is kept, and damaged further. What fails is
written to `build/fuzz/TARGET-N`, and `python tools/fuzz.py TARGET --again FILE` tries it again. Where atheris is
installed, `--atheris` does the same to one target with its instrumentation and libFuzzer's choice of input.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fuzzlab.damage import damaged_bytes
from fuzzlab.targets import TARGETS, Target

ROOT = Path(__file__).resolve().parent.parent
OURS = str(ROOT / "src" / "afterward") + os.sep
SLOW = 30  # seconds of the clock for one input
LARGEST = 1 << 17


class TookTooLong(BaseException):
    """One input holds everything up."""


@dataclass
class Tried:
    """What came of one target."""

    inputs: int = 0
    kept: int = 0
    reached: int = 0
    wrong: list[tuple[str, bytes]] = field(default_factory=list)


class Reached:
    """Which lines of ours were met, and from which line: a tracer that only our own files pay for."""

    def __init__(self) -> None:
        self.known: set[tuple[CodeType, int, int]] = set()
        self.new = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(OURS):
            return None
        last = 0
        known = self.known

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal last
            edge = (code, last, frame.f_lineno)
            if edge not in known:
                known.add(edge)
                self.new += 1
            last = frame.f_lineno
            return line

        return line

    def call(self, function: Callable[[bytes], None], data: bytes) -> bool:
        """Did this input reach something new?"""
        self.new = 0
        sys.settrace(self)
        try:
            function(data)
        finally:
            sys.settrace(None)
        return self.new > 0


def once(call: Callable[[bytes], Any], data: bytes) -> Any:
    """Call it, but not for ever."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SLOW)
    try:
        return call(data)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fuzz(name: str, target: Target, seconds: float, seed: int) -> Tried:
    rng, tried, reached = random.Random(f"{name} {seed}"), Tried(), Reached()
    seeds, until = target.seeds(), time.monotonic() + seconds
    queue, kept = list(seeds), list(seeds)
    faults: set[str] = set()
    while time.monotonic() < until:
        if queue:
            data = queue.pop(0)
        else:
            base = kept[-rng.randrange(1, min(len(kept), 40) + 1)] if rng.random() < 0.6 else rng.choice(kept)
            data = damaged_bytes(base, seeds, rng, is_json=target.is_json, is_talk=name == "messages")[:LARGEST]
        tried.inputs += 1
        try:
            if once(lambda one: reached.call(target.reads, one), data) and tried.inputs > len(seeds):
                kept.append(data)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            trace = traceback.extract_tb(error.__traceback__)
            fault = f"{type(error).__name__} {trace[-1].filename}:{trace[-1].lineno}"
            if fault not in faults:  # each place of failure once
                faults.add(fault)
                tried.wrong.append(("".join(traceback.format_exception(error))[-3000:], data))
    tried.kept, tried.reached = len(kept), len(reached.known)
    return tried


def with_atheris(name: str, target: Target, seconds: float, seed: int) -> int:
    """The same by libFuzzer, in a process of its own: it ends that process."""
    import atheris

    with atheris.instrument_imports(include=["afterward"]):  # what a target imports on being called
        target.reads(target.seeds()[0])
    corpus = ROOT / "build" / "fuzz" / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = target.seeds()
    for number, data in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(data)
    rng = random.Random(seed)

    def mutate(data: bytes, most: int, number: int) -> bytes:
        if rng.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        return damaged_bytes(data or seeds[0], seeds, rng, is_json=target.is_json, is_talk=name == "messages")[:most]

    flags = [
        f"-max_total_time={int(seconds)}", f"-seed={seed + 1}", f"-timeout={SLOW}", f"-max_len={LARGEST}",
        "-rss_limit_mb=3000", f"-artifact_prefix={ROOT}/build/fuzz/{name}-", "-print_final_stats=1", str(corpus),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *flags], target.reads, custom_mutator=mutate)
    atheris.Fuzz()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(sorted(TARGETS)))
    parser.add_argument("--seconds", type=float, default=3600.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", type=Path, metavar="FILE", help="try this input alone")
    parser.add_argument("--atheris", action="store_true", help="by libFuzzer, one target: it ends the process")
    options = parser.parse_args()
    names = options.targets or sorted(TARGETS)
    if options.again is not None:
        TARGETS[names[0]].reads(options.again.read_bytes())
        return 0
    if options.atheris:
        return with_atheris(names[0], TARGETS[names[0]], options.seconds, options.seed)
    folder, wrong = ROOT / "build" / "fuzz", 0
    print(f"{'what':10} {'inputs':>9} {'kept':>6} {'ways reached':>12} {'wrong':>6}")
    for name in names:
        tried = fuzz(name, TARGETS[name], options.seconds / len(names), options.seed)
        print(f"{name:10} {tried.inputs:9,} {tried.kept:6,} {tried.reached:12,} {len(tried.wrong):6}", flush=True)
        for number, (why, data) in enumerate(tried.wrong):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}-{number}").write_bytes(data)
            print(f"build/fuzz/{name}-{number}: {why}", file=sys.stderr)
        wrong += len(tried.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
