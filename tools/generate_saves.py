"""Write the table of what operations build and save, read from the torch that is installed.

python tools/generate_saves.py            # writes src/afterward/model/life/saves.json
python tools/generate_saves.py --check    # compares instead, and says what differs
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from itertools import product
from pathlib import Path

import torch

from lifelab.measure import measure, second_pass_fails
from lifelab.operations import OPERATIONS

TARGET = Path(__file__).parent.parent / "src" / "afterward" / "model" / "life" / "saves.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the file, write nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    table = {"torch": torch.__version__.partition("+")[0], "operations": {}}
    for name, operation in sorted(OPERATIONS.items()):
        entry = measure(operation)
        for pattern in product((False, True), repeat=len(operation.shapes)):
            key = "".join("1" if needs else "0" for needs in pattern)
            reading = entry["patterns"].get(key)
            if reading is None or not any(reading["outs"]):
                continue
            saves = any(saved for _, _, saved in reading["nodes"])
            if second_pass_fails(operation, pattern) != saves:
                print(f"{name} {key}: what it saves does not predict its second pass", file=sys.stderr)
                return 2
        table["operations"][name] = entry
    rows = [f"{json.dumps(n)}: {json.dumps(e, separators=(',', ':'))}" for n, e in table["operations"].items()]
    text = f'{{"torch": "{table["torch"]}", "operations": {{\n' + ",\n".join(rows) + "\n}}\n"
    if options.check:
        return compare(json.loads(TARGET.read_text()), json.loads(text))
    TARGET.write_text(text)
    patterns = sum(len(e["patterns"]) for e in table["operations"].values())
    print(f"{len(rows)} operations, {patterns} patterns, torch {table['torch']}: {len(text)} bytes")
    return 0


def compare(kept: dict, read: dict) -> int:
    names = sorted(set(kept["operations"]) | set(read["operations"]))
    changed = [n for n in names if kept["operations"].get(n) != read["operations"].get(n)]
    for name in changed:
        print(f"differs: {name}")
    print(f"{len(names)} operations compared, {len(changed)} differ; table from {kept['torch']}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
