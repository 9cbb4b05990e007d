"""A million steps under watch: what the recorder holds stays below its bound.

    python tools/soak_memory.py [--steps 1000000]

The bound follows from the limits in recorder.py, events.py and replay.py of observe/. Exit status 1 if it is passed.
"""

from __future__ import annotations

import argparse
import sys
import time

LOOP = """
def train(steps, report):
    weight = torch.ones((), requires_grad=True)
    state = torch.zeros(())
    for step in range(steps):
        state = torch.tanh(weight * state.detach() + 1)
        loss = state * weight
        loss.backward()
        weight.grad = None
        if step % 50000 == 49999:
            report(step + 1)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000_000)
    options = parser.parse_args()

    import torch

    from afterward.observe.marks.importing import marked_code
    from afterward.observe.recording import events
    from afterward.observe.recording import recorder as limits
    from afterward.observe.recording.session import Session
    from afterward.observe.replay.replay import KEPT_PLACES

    torch.set_num_threads(1)
    session = Session()
    session.start()
    space = {"torch": torch}
    exec(marked_code(LOOP.encode(), "loop.py", session.recorders.statements, session.gap), space)
    held = session.recorders.main
    bound = 2 * limits.MARK_LIMIT * 8 + events.EVENT_LIMIT * 700 + limits.LOOK_LIMIT * 8 + KEPT_PLACES * 400
    bound += 2 * events.WAITING_LIMIT * 24
    worst, began = 0, time.perf_counter()

    def report(steps: int) -> None:
        nonlocal worst
        marks = held.marks.buffer_info()[1] * held.marks.itemsize
        noted = held.waiting_events * 24 + sum(map(_size, held.settle()))
        places = sum(sys.getsizeof(place) + 120 for _, _, place in held.replay.kept)
        total = marks + noted + places
        worst = max(worst, total)
        rate = steps / (time.perf_counter() - began)
        print(
            f"{steps:>9,} steps {rate:>7,.0f}/s  marks {marks / 2**20:5.1f} MiB  events {noted / 2**20:5.1f} MiB  "
            f"places {places / 2**20:5.2f} MiB  all {total / 2**20:5.1f} of {bound / 2**20:.0f} MiB",
            flush=True,
        )

    try:
        space["train"](options.steps, report)
    finally:
        session.stop()
    print(f"the most that was held: {worst / 2**20:.1f} MiB; bound {bound / 2**20:.0f} MiB")
    return 0 if worst <= bound and not session.gaps else 1


def _size(event: object) -> int:
    return sys.getsizeof(event) + 250 + (len(event.used) * 8 if getattr(event, "used", None) is not None else 0)


if __name__ == "__main__":
    sys.exit(main())
