"""Writes docs/planted.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from plantlab.asking import Asked
from plantlab.table import is_wrong, markdown

HEAD = """\
# Planted faults

`make plant` takes correct programs, plants one fault in each place where it fits, and asks `run`, `check` and `fix`.
The truth is the program as it was: a fix is right when the patched program computes the same bits in every optimizer
step (gradients used, parameters after it), recorded by a harness that knows nothing of afterward. Mutants that change
nothing are left out: same bits, same values saved and held at every backward, as many backward calls. So are those
whose error is not autograd's.

The programs: {sources}. {planted} faults are in the table; {left} mutants were left out.{sample}

- **run**, **check**: a finding that the right program does not have.
- **at the line**: one of its places, or its first change, is where the fault was planted.
- **fixed**: `fix --write` wrote a change that it calls proven.
- **restored**: with it the program computes the same bits as before the fault; where its cost was the fault, it costs
  no more. **To rounding**: the same but for the order of sums. **But for draws**: the same where every draw of random
  numbers begins from one seed, so that it does not matter in which order they are drawn.
- **proven and wrong**: none of these. Each of them is listed below.

{table}
## Proven and not restored

{wrong}
"""

_SOURCES = (("gallery-", "the gallery's right ones"), ("generated-", "generated ones"), ("public-", "public ones"))


def written(page: Path, asked: Sequence[Asked], left: int, seed: int | None) -> None:
    """`seed`: of the sample, if it is one."""
    counted = Counter(_source(name) for name in {a.program for a in asked})
    sources = ", ".join(f"{number} {name}" for name, number in counted.most_common())
    wrong = [a for a in asked if is_wrong(a)]
    lines = [f"- `{a.id}` ({a.remedy}): {_WHY[a.result]}" for a in sorted(wrong, key=lambda a: a.id)]
    text = HEAD.format(
        sources=sources,
        planted=len(asked),
        left=left,
        sample=f" This is a sample of all mutants, drawn by chance (`--seed {seed}`)." if seed is not None else "",
        table=markdown(asked),
        wrong="\n".join(lines) or "None.",
    )
    page.write_text(text, encoding="utf-8")


_WHY = {"other": "trains otherwise", "raises": "fails", "dearer": "the same bits, and still costs more", "": "not run"}


def _source(name: str) -> str:
    return next((title for prefix, title in _SOURCES if name.startswith(prefix)), "`fixed.py` of the cases")
