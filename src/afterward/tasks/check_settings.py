"""What a check is asked for: settings of the command line, and of the nearest `pyproject.toml`."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

from afterward.errors import AfterwardError
from afterward.tasks.regular_file import content_of

_FILE = "pyproject.toml"


@dataclass(slots=True)
class Settings:
    """What to look for, and where not to look."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    jobs: int = 0
    cache: bool = True


def configured(folder: str) -> dict[str, Any]:
    """`[tool.afterward]` of the nearest pyproject.toml that has one, here or above."""
    here = os.path.abspath(folder)
    while True:
        table = _table(os.path.join(here, _FILE))
        if table is not None:
            return table
        above = os.path.dirname(here)
        if above == here:
            return {}
        here = above


def _table(file: str) -> dict[str, Any] | None:
    """The file's `[tool.afterward]`; None where it has none."""
    data = content_of(file)
    if b"afterward" not in data:  # whatever else is wrong with it is not for us to say
        return None
    tool = _parsed(data, file).get("tool")
    table = tool.get("afterward") if isinstance(tool, dict) else None
    if table is None or isinstance(table, dict):
        return table
    raise AfterwardError(f"{file}: [tool.afterward] must be a table")


def _parsed(data: bytes, file: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]
    try:
        found: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and TOMLDecodeError are ValueErrors
        raise AfterwardError(f"{file}: not valid TOML: {error}") from None
    return found
