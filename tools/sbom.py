"""Prints the software bill of materials of an installed afterward: itself and all that it needs to run.

python tools/sbom.py > afterward.cdx.json     # CycloneDX 1.5, from the metadata of the installed packages

The same environment gives the same text: no date and no random number is in it.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(name: str) -> dict[str, tuple[Distribution, list[str]]]:
    """A package and all that it needs without extras, each with the names of what it needs itself."""
    found: dict[str, tuple[Distribution, list[str]]] = {}
    todo = [canonicalize_name(name)]
    while todo:
        one = todo.pop()
        if one in found:
            continue
        try:
            installed = distribution(one)
        except PackageNotFoundError:
            sys.exit(f"{one} is needed and not installed")
        requirements = [Requirement(text) for text in installed.requires or ()]
        wanted = [each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
        found[one] = (installed, sorted({canonicalize_name(each.name) for each in wanted}))
        todo += found[one][1]
    return found


def component(name: str, installed: Distribution) -> dict[str, object]:
    version = installed.version
    licence = installed.metadata.get("License-Expression") or _classified(installed)
    return {
        "type": "library",
        "bom-ref": _purl(name, version),
        "name": name,
        "version": version,
        "purl": _purl(name, version),
        **({"licenses": [{"license": {"name": licence}}]} if licence else {}),
    }


def _classified(installed: Distribution) -> str:
    marked = [c for c in installed.metadata.get_all("Classifier") or () if c.startswith("License ::")]
    return marked[0].rpartition(" :: ")[2] if marked else (installed.metadata.get("License") or "").split("\n")[0]


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def bill(name: str = "afterward") -> dict[str, object]:
    packages = needed(name)
    refs = {one: _purl(one, installed.version) for one, (installed, _) in packages.items()}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(name, packages[name][0])},
        "components": [component(one, packages[one][0]) for one in sorted(packages) if one != name],
        "dependencies": [
            {"ref": refs[one], "dependsOn": [refs[each] for each in packages[one][1]]} for one in sorted(packages)
        ],
    }


if __name__ == "__main__":
    print(json.dumps(bill(), indent=2))
