"""Predicts from source what becomes of a program's graphs: an abstract interpreter that writes `History`.

It executes nothing of what it reads and needs neither torch nor the program's libraries. A program is run
abstractly, statement by statement (`statements`, `expressions`, `calls`), with a model of what libraries do
(`library`), on a graph of which only certain things are said (`graph`). Tests on values that cannot be known go
one way in one run and the other way in another (`explore`). A pass that would fail is written down as the observer
would have written it (`record`), so the same rules explain it.
"""

from __future__ import annotations

from afterward.interpret.fragments.standins import Assumption
from afterward.interpret.project.sources import Sources, parse
from afterward.interpret.search.doors import Door
from afterward.interpret.search.explore import Finding, Outcome, Part, Quiet, interpret_file

__all__ = ["Assumption", "Door", "Finding", "Outcome", "Part", "Quiet", "Sources", "interpret_file", "parse"]
