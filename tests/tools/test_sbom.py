"""The bill of materials names what is installed to run afterward, and nothing else."""

from __future__ import annotations

from importlib.metadata import version

from tests import tool


def test_it_names_what_is_needed_to_run() -> None:
    bill = tool.load("sbom").bill()
    names = {one["name"]: one["version"] for one in bill["components"]}
    assert {"rich", "libcst", "pathspec", "platformdirs"} <= set(names)
    assert "torch" not in names
    assert "pytest" not in names
    assert names["rich"] == version("rich")
    refs = {one["ref"] for one in bill["dependencies"]}
    assert all(each in refs for one in bill["dependencies"] for each in one["dependsOn"])
