"""Draws docs/images/lifeline-*.svg: the pictures in the docs are made by the tool itself, from programs it watches."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.histories import run_of  # noqa: E402

from afterward.render.lifeline import picture  # noqa: E402
from afterward.rules import find_rule  # noqa: E402

PROGRAMS = {
    "backward-twice": "AFT101",
    "two-losses": "AFT102",
    "forward-outside": "AFT104",
    "gan": "AFT105",
    "stepped": "AFT201",
    "written": "AFT202",
    "log": "AFT301",
    "grows": "AFT302",
    "cut": "AFT401",
}


def main() -> None:
    import torch

    torch.manual_seed(0)
    folder = ROOT / "docs" / "images"
    sources = {name: _first_block(code) for name, code in PROGRAMS.items()}
    sources["carried"] = (ROOT / "examples" / "carried_state.py").read_text(encoding="utf-8")
    for name, source in sources.items():
        drawn = picture(run_of(source))
        assert drawn is not None, name
        (folder / f"lifeline-{name}.svg").write_text(drawn, encoding="utf-8")
        print(f"docs/images/lifeline-{name}.svg")


def _first_block(code: str) -> str:
    return find_rule(code).page().split("```python\n", 1)[1].split("```", 1)[0]


if __name__ == "__main__":
    main()
