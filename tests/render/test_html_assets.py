"""The built script and style are those of web/: `make web` builds them."""

from __future__ import annotations

import hashlib
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
