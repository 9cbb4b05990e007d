"""Figures as a reader takes them in."""

from __future__ import annotations


def human(size: int) -> str:
    """Bytes with a unit, one decimal from KB on."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return ""


def percent(part: float, whole: float) -> str:
    """A share, of which nothing that is there is called 0."""
    share = round(100 * part / whole)
    return f"{share} %" if share or not part else "less than 1 %"


def duration(seconds: float) -> str:
    """A time with a unit that leaves a few digits."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
