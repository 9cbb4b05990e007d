"""Where `run` and `check` cannot say the same of a program, and why: the fields that differ, by the case's name."""

from __future__ import annotations

DATA = "which values there are decides when it happens, and only a run has them"
HELD = "a run names the object as it is held at the end, source names it as the statement writes it"
LAST = "a run has all iterations behind it, source is read for a few"
SEVERAL = "several cuts lie in a row: a run names the one nearest to the loss, source the first one"

DIFFERENCES: dict[str, tuple[str, frozenset[str]]] = {
    "baseline-average-grows": (
        "a run sees that the parameters were overwritten before the old graph was used; source does not show which "
        "values the average saved",
        frozenset({"code", "built", "freed", "written", "bridge", "remedies"}),
    ),
    "class-level-history": (HELD, frozenset({"bridge", "remedies"})),
    "critic-frozen-for-good": (
        "which cut is at fault depends on the optimizer that is stepped next, which source has not come to",
        frozenset({"cut", "bridge", "remedies"}),
    ),
    "done-mask-on-hidden": (DATA, frozenset({"built", "reused", "written"})),
    "episode-losses-list-epoch-two": (LAST, frozenset({"bridge", "remedies"})),
    "flow-transform-cache": (HELD, frozenset({"bridge", "remedies"})),
    "hard-examples-by-list": (SEVERAL, frozenset({"cut", "bridge", "remedies"})),
    "image-pool-keeps-fakes": (DATA, frozenset({"code", "reused", "bridge", "remedies"})),
    "log-probs-behind-a-zip": (HELD, frozenset({"bridge", "remedies"})),
    "loss-rebuilt-from-list": (SEVERAL, frozenset({"cut"})),
    "loss-wrapped-in-new-leaf": (LAST, frozenset({"built"})),
    "memory-under-node-numbers": (DATA, frozenset({"code", "bridge", "remedies"})),
    "meters-that-add-in-place": (HELD, frozenset({"bridge", "remedies"})),
    "optimizer-of-old-model": (
        "that the model was replaced shows in the objects a run holds; source shows parameters without a gradient",
        frozenset({"built", "bridge", "remedies"}),
    ),
    "parametrized-cached-block": (HELD, frozenset({"bridge", "remedies"})),
    "prompt-updated-by-hand": (LAST, frozenset({"built"})),
    "spike-retry-late": (DATA, frozenset({"built", "freed", "reused"})),
    "value-in-the-replay": (DATA, frozenset({"built", "bridge", "remedies"})),
}


def unexplained(name: str, apart: dict[str, object]) -> dict[str, object]:
    """Of the fields that differ, those that the list does not name for this program."""
    _, fields = DIFFERENCES.get(name, ("", frozenset[str]()))
    return {key: value for key, value in apart.items() if key not in fields}
