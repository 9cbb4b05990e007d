"""Run every shipped example and write its page: docs/gallery/*.md, docs/what-happens.md and the pictures.

    python tools/gallery_pages.py                 # all of them
    python tools/gallery_pages.py gan lightgcn    # these, and the table

A picture is what `afterward report --svg` draws of the run that the page shows.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch

from afterward import cli
from afterward.gallery import Example, Program, examples
from afterward.rules import find_rule

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = DOCS / "images" / "gallery"

_REPORT = re.compile(r"^(?:error|warning|info)\[", re.MULTILINE)
_RAISED = re.compile(r"^(\w+Error: .*?)(?:[.:]| \(or) ", re.MULTILINE)

HEAD = """\
# Common advice, tested

Articles about "Trying to backward through the graph a second time" present programs that fail and cures that work. Many
of these programs do not fail, and many of the cures move the failure or hide it. Each row below is a program that ships
with afterward and that the tests run, plain and under `afterward run`: the second column is what happened.

"""


@dataclass(frozen=True)
class Ran:
    """What a program printed and what afterward said of it, as a reader sees them."""

    printed: str
    raised: str
    report: str
    has_picture: bool

    def codes(self, advice: str) -> list[str]:
        """What was found; of advice, what the example is about."""
        found = re.findall(r"^(error|warning|info)\[(AFT\d+)\]", self.report, re.MULTILINE)
        return [code for severity, code in found if severity != "info" or code == advice]

    @property
    def text(self) -> str:
        raised = f"...\n{self.raised} ...\n" if self.raised else ""
        return "\n".join(part.rstrip() + "\n" for part in (self.printed + raised, self.report) if part).rstrip()


def picture_of(program: Program) -> Path:
    return PICTURES / f"{program.example}-{program.name}.svg"


def run(program: Program) -> Ran:
    """Run one under `afterward run`, in a process of its own, and let `afterward report` draw what it saw."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, program.example)
        place.mkdir()
        (place / program.path.name).write_text(program.path.read_text())
        printed, said = call(folder, "run", "--history", "run.json", f"{program.full_name}.py")
        begins, raised = _REPORT.search(said), _RAISED.search(said)
        PICTURES.mkdir(exist_ok=True)
        picture_of(program).unlink(missing_ok=True)
        if begins is not None or program.read:  # what is said to fail, and does not, is worth a look, too
            call(folder, "report", "run.json", "--svg", str(picture_of(program)))
    return Ran(
        printed=printed,
        raised=raised[1] if raised else "",
        report=said[begins.start() :].split("\nFor more: ")[0] + "\n" if begins else "",
        has_picture=picture_of(program).exists(),
    )


def call(folder: str, *words: str) -> tuple[str, str]:
    """What `afterward WORDS` prints, in `folder`. Forked, so that torch is imported once for all of them."""
    out, err = Path(folder, "out.txt"), Path(folder, "err.txt")
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.chdir(folder)
            for stream, file in ((1, out), (2, err)):
                os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            status = cli.main(list(words))
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
    os.waitpid(process, 0)
    return out.read_text(), err.read_text()


def page(example: Example, runs: dict[str, Ran]) -> str:
    parts = [f"# {example.title}", example.intro, f"`afterward demo {example.name}` runs the first of these programs."]
    for program in example.programs:
        parts += section(program, runs[program.name])
    return "\n\n".join(part for part in parts if part) + "\n"


def section(program: Program, ran: Ran) -> list[str]:
    facts = [f"- **You may have read:** {program.read}"] if program.read else []
    facts.append(f"- **What happens:** {program.happens}")
    facts.append(f"- **afterward says:** {link(program.finds, '../..') if program.finds else 'nothing'}")
    command = " ".join(["afterward run", f"{program.full_name}.py"])
    return [
        f"## {program.title[0].upper()}{program.title[1:]}",
        "\n".join(facts),
        program.prose,
        f'```python title="{program.full_name}.py"\n{program.path.read_text().rstrip()}\n```',
        f'```text title="{command}"\n{ran.text}\n```',
        f"![The life of the graph in {program.full_name}](../images/gallery/{picture_of(program).name})"
        if ran.has_picture
        else "",
    ]


def link(code: str, up: str, short: bool = False) -> str:
    """To the page in the source, which the site replaces by its own."""
    name = find_rule(code).name
    return f"[{code if short else f'{code} {name}'}]({up}/src/afterward/rules/{name.replace('-', '_')}.md)"


def table() -> str:
    rows = ["| you may have read | what happens | afterward says | program |", "| --- | --- | --- | --- |"]
    for example in examples():
        for program in example.programs:
            if program.read:
                said = link(program.finds, "..", short=True) if program.finds else "nothing"
                shown = f"[{program.full_name}](gallery/{example.name}.md)"
                rows.append(f"| {program.read} | {program.happens} | {said} | {shown} |")
    return HEAD + "\n".join(rows) + "\n\nRun one: `afterward demo same-loss-twice`. List them: `afterward demo`.\n"


def draw_tutorial() -> None:
    """The life line of the tutorial's own program."""
    source = re.search(r'^```python title="train.py"\n(.*?)^```$', (DOCS / "tutorial.md").read_text(), re.M | re.S)
    assert source is not None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(source[1])
        call(folder, "run", "--history", "run.json", "train.py")
        call(folder, "report", "run.json", "--svg", str(DOCS / "images" / "tutorial.svg"))


def main(names: list[str]) -> int:
    (DOCS / "gallery").mkdir(exist_ok=True)
    (DOCS / "what-happens.md").write_text(table())
    wanted = [example for example in examples() if not names or example.name in names]
    torch.optim.SGD([torch.ones(1, requires_grad=True)])  # imports what it imports late
    draw_tutorial()
    differing = False
    for example in wanted:
        runs = {program.name: run(program) for program in example.programs}
        for program in example.programs:
            said = " ".join(runs[program.name].codes(program.finds))
            if said != program.finds:
                differing = True
                print(f"{program.full_name}: found {said or 'nothing'}, and its page says {program.finds or 'nothing'}")
                break
        else:
            (DOCS / "gallery" / f"{example.name}.md").write_text(page(example, runs))
            print(f"docs/gallery/{example.name}.md", flush=True)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
