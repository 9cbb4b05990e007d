"""Writes the versions with which this checkout is developed: of all that the extras of a development environment bring.

python tools/lock.py > constraints-dev.txt     # `make lock`; read that diff as code

`make` uses the file on the Python that it was written with; on others the newest versions are taken. torch is left out:
the Makefile names it.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("dev", "docs", "dgl", "pyg")


def needed(name: str, extras: tuple[str, ...]) -> dict[str, str]:
    """The installed packages that these extras bring, directly or not, with their versions."""
    versions: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    todo = [(canonicalize_name(name), extra) for extra in ("", *extras)]
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        try:
            installed = distribution(one[0])
        except PackageNotFoundError:  # an optional part that this environment does without
            continue
        versions[one[0]] = installed.version
        for requirement in map(Requirement, installed.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": one[1]}):
                todo += [(canonicalize_name(requirement.name), extra) for extra in ("", *requirement.extras)]
    return versions


def main() -> int:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(f"# Python {python}. Written by tools/lock.py (`make lock`).")
    for name, version in sorted(needed("afterward", EXTRAS).items()):
        if name not in ("afterward", "torch"):
            print(f"{name}=={version.partition('+')[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
