"""Our own failures. A fault in the reader's program is a finding, never one of these."""

from collections.abc import Iterable


class AfterwardError(Exception):
    """Base of everything a door (command line, plugin) turns into one clear line and an exit status."""


class ProgramNotFound(AfterwardError):
    """The program to run is not there, or is not a file that Python can run."""


class SourceUnreadable(AfterwardError):
    """A source file could not be read or is not valid Python."""


class ReportNotWritten(AfterwardError):
    """The report could not be written where it was asked for."""


class UnknownRule(AfterwardError):
    """No rule has that code or name."""


class HistoryUnreadable(AfterwardError):
    """A file is not a history that afterward has saved."""


class UnknownExample(AfterwardError):
    """No shipped example, or no program of it, has that name."""


class ExampleNotRunnable(AfterwardError):
    """A shipped example needs a library that is not installed."""


def alike(word: str, names: Iterable[str]) -> str:
    """What a message says of a misspelt word: ": did you mean X?", or nothing where no name is like it."""
    near = sorted(
        (_distance(word.lower(), name.lower()), sorted(word.lower()) != sorted(name.lower()), name) for name in names
    )
    within = max(1, min(len(word) // 3, 3))
    return f": did you mean {near[0][2]}?" if near and near[0][0] <= within else ""


def _distance(one: str, two: str) -> int:
    """How many letters are wrong, missing, too many or swapped with their neighbour."""
    if abs(len(one) - len(two)) > 3 or len(one) > 60:
        return 99
    rows = [list(range(len(two) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(two, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == two[j - 2] and one[i - 2] == b:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
