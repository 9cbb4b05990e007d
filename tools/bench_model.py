"""How many node events the model handles in a second, on one core.

A node event is a node built, or a node run by a pass. The program is a training loop of a small network:
linear layers, activations, a loss, a backward pass, an optimizer step.
"""

from __future__ import annotations

import sys
import time

from afterward.model.life import Optimizer, World

FLOOR = 200_000


def train(world: World, steps: int, layers: int) -> int:
    """Run the loop; how many nodes were built and run."""
    weights = [world.tensor(f"w{i}", requires_grad=True) for i in range(layers)]
    biases = [world.tensor(f"b{i}", requires_grad=True) for i in range(layers)]
    optimizer = Optimizer(world, [*weights, *biases])
    data, target = world.tensor("x"), world.tensor("t")
    events = 0
    for _ in range(steps):
        before = world.tape.clock
        h = data
        for weight, bias in zip(weights, biases, strict=True):
            (h,) = world.apply("linear", h, weight, bias)
            (h,) = world.apply("tanh", h)
        (loss,) = world.apply("mse_loss", h, target)
        optimizer.zero_grad()
        outcome = world.backward([loss])
        assert outcome.succeeded
        optimizer.step()
        events += world.tape.clock - before + len(outcome.ran) + len(outcome.reached)
    return events


def main() -> int:
    train(World(), 20, 10)
    best = 0.0
    for _ in range(5):
        began = time.perf_counter()
        events = train(World(), 200, 20)
        best = max(best, events / (time.perf_counter() - began))
    print(f"{best:,.0f} node events a second (floor {FLOOR:,})")
    return 0 if best >= FLOOR else 1


if __name__ == "__main__":
    sys.exit(main())
