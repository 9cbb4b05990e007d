"""Reads `programs/*.py`: each is a wrong program, as users of a framework write it, with what puts it right.

Its head says what it needs, what `run` finds (code, bridge, kind of the first remedy; `|` parts what are both right),
and by which command it is started. `# built`, `# freed`, `# reused` and `# written` name lines; `# right:` is followed
by the line that belongs there. `# light`: in CI too. `# unproven`: `fix` proves no change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent / "programs"
_RIGHT = re.compile(r"  # right: (.*)$")
_ROLE = "(?:built|freed|reused|written)"
_PLACES = re.compile(rf"  # ({_ROLE}(?: {_ROLE})*)$")


@dataclass(frozen=True)
class Program:
    name: str
    needs: tuple[str, ...]
    codes: tuple[str, ...]
    bridges: tuple[str, ...]
    remedies: tuple[str, ...]
    command: tuple[str, ...]  # that starts it; empty for Python itself
    light: bool
    unproven: bool
    wrong: str
    right: str
    places: dict[str, int]

    @property
    def missing(self) -> list[str]:
        return [name for name in self.needs if find_spec(name) is None]


def read(name: str) -> Program:
    text = (HERE / f"{name}.py").read_text()
    head = dict(re.findall(r"^# (needs|finds|command|light|unproven)(?:: (.*))?$", text, re.MULTILINE))
    wrong, right, places = [], [], {}
    for number, line in enumerate(text.splitlines(), 1):
        instead = _RIGHT.search(line)
        plain = line[: instead.start()] if instead else line
        found = _PLACES.search(plain)
        plain = plain[: found.start()] if found else plain
        places.update(dict.fromkeys(found[1].split() if found else (), number))
        wrong.append(plain)
        right.append(plain[: len(plain) - len(plain.lstrip())] + instead[1] if instead else plain)
    codes, bridges, remedies = (tuple(one.split("|")) for one in head["finds"].split())
    return Program(
        name,
        tuple(head["needs"].split()),
        codes,
        bridges,
        remedies,
        tuple(head.get("command", "").split()),
        "light" in head,
        "unproven" in head,
        "\n".join(wrong) + "\n",
        "\n".join(right) + "\n",
        places,
    )


ALL = sorted(path.stem for path in HERE.glob("*.py"))
