"""How far two pictures are apart. Fonts differ from machine to machine, so they are compared small and grey: what must
be the same is where things are, and how light or dark."""

from __future__ import annotations

import base64
from typing import Any

_COMPARE = """async ([one, other]) => {
  const [wide, high] = [96, 48];
  const small = async (data) => {
    const image = new Image();
    image.src = "data:image/*;base64," + data;
    await image.decode();
    const canvas = new OffscreenCanvas(wide, high);
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, wide, high);
    const pixels = context.getImageData(0, 0, wide, high).data;
    return Array.from({length: wide * high}, (_, n) => (pixels[4 * n] + pixels[4 * n + 1] + pixels[4 * n + 2]) / 765);
  };
  const [a, b] = [await small(one), await small(other)];
  const apart = a.map((value, n) => Math.abs(value - b[n]));
  return [apart.reduce((sum, value) => sum + value, 0) / apart.length, Math.max(...apart)];
}"""


def apart(page: Any, one: bytes, other: bytes) -> tuple[float, float]:
    """The mean and the largest difference of two pictures, between 0 and 1; worked out in a page of the browser."""
    mean, most = page.evaluate(_COMPARE, [base64.b64encode(picture).decode() for picture in (one, other)])
    return mean, most
