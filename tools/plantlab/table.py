"""The table of what was planted and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plantlab.asking import Asked

COLUMNS = (
    "planted",
    "run",
    "check",
    "at the line",
    "fixed",
    "restored",
    "to rounding",
    "but for draws",
    "proven and wrong",
)
KINDS = {
    "raises": "Faults that raise",
    "otherwise": "Silent faults: the program trains otherwise",
    "costs": "Silent faults: the same bits, more memory or work",
}
LAWFUL = {
    "data": "other data, the same kinds of passes and steps",
    "cleared": "gradients for another network, cleared unused",
}
RIGHT = ("bits", "close", "draws")  # `draws`: the same, and its random numbers are drawn in another order


def counts(asked: Sequence[Asked]) -> list[int]:
    """In the order of COLUMNS. What cost too much and was restored in its bits alone is not restored."""
    return [
        len(asked),
        sum(bool(a.run) for a in asked),
        sum(bool(a.check) for a in asked),
        sum(a.run_at or a.check_at for a in asked),
        sum(a.fix == "proven" for a in asked),
        sum(a.result == "bits" for a in asked),
        sum(a.result == "close" for a in asked),
        sum(a.result == "draws" for a in asked),
        sum(is_wrong(a) for a in asked),
    ]


def is_wrong(asked: Asked) -> bool:
    """Was a change called proven that does not compute what the right program does?"""
    return asked.fix == "proven" and asked.result not in RIGHT


def rows(asked: Iterable[Asked]) -> list[tuple[str, list[int]]]:
    """By operator, in groups by what the fault does; a sum after each."""
    everything = list(asked)
    found: list[tuple[str, list[int]]] = []
    for kind, title in KINDS.items():
        group = [a for a in everything if a.kind == kind]
        names = sorted({a.operator for a in group})
        found += [(name, counts([a for a in group if a.operator == name])) for name in names]
        found.append((f"**{title}**", counts(group)))
    found.append(("**All**", counts([a for a in everything if a.kind in KINDS])))
    return found


def apart(asked: Iterable[Asked]) -> list[tuple[str, int, int, int]]:
    """Of what is no fault of graph or gradient, by operator: how many, and of how many something is said."""
    found: dict[str, list[Asked]] = {}
    for a in sorted(asked, key=lambda a: (a.kind, a.operator)):
        if a.kind in LAWFUL:
            found.setdefault(f"{a.operator}: {LAWFUL[a.kind]}", []).append(a)
    return [
        (n, len(all_), sum(bool(a.run) for a in all_), sum(bool(a.check) for a in all_)) for n, all_ in found.items()
    ]


def markdown(asked: Iterable[Asked]) -> str:
    lines = [f"| operator | {' | '.join(COLUMNS)} |", f"| --- |{' ---: |' * len(COLUMNS)}"]
    lines += [f"| {name} | {' | '.join(map(str, numbers))} |" for name, numbers in rows(asked)]
    return "\n".join(lines) + "\n"


def plain(asked: Iterable[Asked]) -> str:
    everything = list(asked)
    lines = [f"{'':44s}" + "".join(f"{name:>18s}" for name in COLUMNS)]
    for name, numbers in rows(everything):
        lines.append(f"{name.strip('*')[:43]:44s}" + "".join(f"{number:18d}" for number in numbers))
    for name, planted, run, check in apart(everything):
        lines.append(f"{name[:43]:44s}{planted:18d}{run:18d}{check:18d}")
    return "\n".join(lines)
