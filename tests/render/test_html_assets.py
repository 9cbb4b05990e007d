"""The built script and style are those of web/: `make web` builds them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from afterward.render.html import asset

WEB = Path(__file__).resolve().parents[2] / "web"
ASSETS = ("page.js", "page.css", "lifeline.css")


@pytest.mark.skipif(not WEB.is_dir(), reason="the sources of the page are not part of this checkout")
def test_the_assets_were_built_from_these_sources() -> None:
    files = [WEB / name for name in ("build.mjs", "package.json", "package-lock.json")]
    files += (WEB / "src").iterdir()
    total = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.relative_to(WEB).as_posix()):
        total.update(f"{file.relative_to(WEB).as_posix()}\n".encode() + file.read_bytes() + b"\n")
    assert asset("sources.sha256").strip() == total.hexdigest(), (
        "web/ has changed: run `make web` and commit the assets"
    )


@pytest.mark.parametrize("name", ASSETS)
def test_an_asset_can_stand_in_a_page(name: str) -> None:
    text = asset(name)
    assert text.isascii()
    assert "</script" not in text.lower()
    assert "</style" not in text.lower()
    assert "sourceMappingURL" not in text


def test_the_style_can_stand_in_a_picture() -> None:
    assert not set("<&") & set(asset("lifeline.css"))


# Words and what they stand on, by the names of the colours.
READ = """
ink/ground soft/ground soft/card soft/column soft/failing soft/code-ground soft/dead-fill soft/alive-fill ink/dead-fill
ink/alive-fill bridge/ground bridge/bridge-fill ground/bridge alive/ground ground/alive fail/ground fail/failing
fail/fail-fill fail/code-ground pass/ground pass/code-ground pass/failing write/ground write/failing ground/write
warn/ground word/code-ground string/code-ground number/code-ground
"""


def test_words_can_be_read_on_their_ground() -> None:
    """In every palette, light and dark, letters stand out as WCAG AA asks: 4.5 to 1."""
    palettes = re.findall(r"\{([^{}]*--ink:[^{}]*)\}", asset("page.css") + asset("lifeline.css"))
    assert len(palettes) == 7  # of the page and of the life line: light, dark, and dark by choice
    for palette in palettes:
        colours = dict(re.findall(r"--([\w-]+):\s*#(\w+)", palette))
        for pair in READ.split():
            letters, ground = (colours.get(name) for name in pair.split("/"))
            if letters is not None and ground is not None:
                assert _contrast(letters, ground) >= 4.5, f"{pair} in {palette}"


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    digits = "".join(2 * digit for digit in colour) if len(colour) == 3 else colour
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
