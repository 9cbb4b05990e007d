"""Writes docs/planted.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from plantlab.asking import Asked
from plantlab.table import KINDS, apart, is_wrong, markdown

HEAD = """\
# Planted faults

`make plant` takes correct programs, plants one fault in each place where it fits, and asks `run`, `check` and `fix`.
The truth is the program as it was: a fix is right when the patched program computes the same bits in every optimizer
step (gradients used, parameters after it), recorded by a harness that knows nothing of afterward. Mutants that change
nothing are left out: same bits, and no more values saved or held at backward calls. So are those
whose error is not autograd's. A mutant that computes something else, but has no pass and no step that the right program
has not (the same operations connected in the same way, ending in the same parameters; the same passes since the
gradient was cleared) and holds no more memory, computes with other data and breaks no sentence of
[the law](the-law.md). So does one with the same bits that produces gradients for another network which are cleared
unused, as a GAN's may be. These are counted apart.

The programs: {sources}. {planted} faults are in the table; {left} mutants were left out.{sample}

- **run**, **check**: a finding that the right program does not have.
- **at the line**: one of its places, or its first change, is where the fault was planted.
- **fixed**: `fix --write` wrote a change that it calls proven.
- **restored**: with it the program computes the same bits as before the fault; where its cost was the fault, it costs
  no more. **To rounding**: the same but for the order of sums. **But for draws**: the same where every draw of random
  numbers begins from one seed, so that it does not matter in which order they are drawn.
- **proven and wrong**: none of these. Each of them is listed below.

{table}
## No fault of graph or gradient

{apart}
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
        planted=sum(a.kind in KINDS for a in asked),
        left=left,
        sample=f" This is a sample of all mutants, drawn by chance (`--seed {seed}`)." if seed is not None else "",
        table=markdown(asked),
        wrong="\n".join(lines) or "None.",
        apart=_apart(asked),
    )
    page.write_text(text, encoding="utf-8")


def _apart(asked: Sequence[Asked]) -> str:
    lines = ["| operator, and what it does | planted | run | check |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {name} | {planted} | {run} | {check} |" for name, planted, run, check in apart(asked)]
    return "\n".join(lines) + "\n" if len(lines) > 2 else "None.\n"


_WHY = {"other": "trains otherwise", "raises": "fails", "dearer": "the same bits, and still costs more", "": "not run"}


def _source(name: str) -> str:
    return next((title for prefix, title in _SOURCES if name.startswith(prefix)), "`fixed.py` of the cases")
