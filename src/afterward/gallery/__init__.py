"""The shipped examples: common advice about backward passes, and what happens.

An example is a folder of small programs with a page. The page says of each program what you may have read about it and
what happens when it is run; the tests run every program, plain and watched, and hold the page to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from afterward.errors import UnknownExample

FOLDER = Path(__file__).parent

# The order in which people meet them.
NAMES = (
    "same-loss-twice",
    "per-sample-loop",
    "one-layer-twice",
    "backward-after-loop",
    "two-networks",
    "zero-grad-cure",
    "retain-graph-cure",
    "combined-losses",
    "truncated-bptt",
    "running-loss",
    "cached-embeddings",
    "gan",
    "actor-critic",
    "multi-agent",
    "higher-order",
    "gradient-penalty",
    "lightgcn",
    "lightgcn-dgl",
    "lightgcn-pyg",
)

# What an example needs beside torch: the module it imports and the extra that installs it.
NEEDS = {"lightgcn-dgl": ("dgl", "dgl"), "lightgcn-pyg": ("torch_geometric", "pyg")}

_FACT = re.compile(r"^- (read|happens|raises|finds|quick): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """One program of an example, and the truth about it."""

    example: str
    name: str
    title: str
    happens: str
    read: str = ""
    raises: str = ""
    finds: str = ""
    bridge: str = ""
    quick: tuple[str, ...] = ()
    prose: str = ""

    @property
    def path(self) -> Path:
        return FOLDER / self.example / f"{self.name}.py"

    @property
    def full_name(self) -> str:
        return f"{self.example}/{self.name}"


@dataclass(frozen=True)
class Example:
    """A situation: its programs in the order of the page. The first one is what `afterward demo NAME` runs."""

    name: str
    title: str
    summary: str
    intro: str
    programs: tuple[Program, ...] = field(default=())

    @property
    def needs(self) -> tuple[str, str] | None:
        return NEEDS.get(self.name)

    def program(self, name: str) -> Program:
        for program in self.programs:
            if program.name == name:
                return program
        known = ", ".join(program.name for program in self.programs)
        raise UnknownExample(f"the example {self.name} has no program named {name}: it has {known}")


def examples() -> list[Example]:
    return [_read(name) for name in NAMES]


def find_example(name: str) -> Example:
    if name in NAMES:
        return _read(name)
    near = get_close_matches(name, NAMES, n=2, cutoff=0.6) or [known for known in NAMES if name and name in known]
    hint = f"did you mean {' or '.join(near)}?" if near else "`afterward demo` lists them"
    raise UnknownExample(f"no example is named {name}: {hint}")


def _read(name: str) -> Example:
    text = (FOLDER / name / "page.md").read_text(encoding="utf-8")
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    title, summary, intro = head.split("\n", 2)
    return Example(
        name=name,
        title=title.removeprefix("# "),
        summary=summary.removeprefix("> "),
        intro=intro.strip(),
        programs=tuple(_program(name, section) for section in sections),
    )


def _program(example: str, section: str) -> Program:
    heading, body = section.split("\n", 1)
    name, title = heading.split(": ", 1)
    facts = dict(_FACT.findall(body))
    finds, _, bridge = facts.get("finds", "").partition(" through ")
    return Program(
        example=example,
        name=name,
        title=title,
        happens=facts["happens"],
        read=facts.get("read", ""),
        raises=facts.get("raises", ""),
        finds=finds,
        bridge=bridge.strip("`"),
        quick=tuple(facts.get("quick", "").split()),
        prose=_FACT.sub("", body).strip(),
    )
