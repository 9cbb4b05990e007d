"""Finds what froze the parameters that the step after a failed pass would have changed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from afterward.follow.path import Place
from afterward.follow.reading import parts_run
from afterward.follow.steps_ahead import steps_ahead
from afterward.model.history import Cut, Pass
from afterward.model.site import Where
from afterward.observe import compat
from afterward.observe.looking import parameters_held_by
from afterward.observe.provenance.cuts import switch_of
from afterward.observe.provenance.frame_values import NOT_THERE, value_of
from afterward.observe.provenance.sources import Sources


def frozen_by(
    sources: Sources,
    late: Pass,
    trail: Sequence[Place],
    frames: Sequence[FrameType],
    where: Callable[[Place], Where | None],
) -> Cut | None:
    """The last switch-off, where the optimizer that is stepped next holds nothing but frozen parameters."""
    optimizer = next((one for one in stepped_after(sources, late, frames) if one is not None), None)
    held = parameters_held_by(optimizer) if optimizer is not None else []
    if not held or any(parameter.requires_grad for parameter in held):
        return None
    for place in reversed(trail):
        for node in parts_run(sources.statement(place.number)):
            switch = switch_of(node)
            spot = where(place) if switch is not None and not _given(sources, place, switch[1], True) else None
            if spot is not None and switch is not None:
                return Cut(spot, switch[0], switch[2], sources.site_of(spot.site.file, node))  # type: ignore[arg-type]
    return None


def _given(sources: Sources, place: Place, flag: ast.expr, value: bool) -> bool:
    """Was the flag this very value: by itself, or as what the function around it was called with?"""
    if isinstance(flag, ast.Constant):
        return flag.value is value
    caller = sources.statement(place.caller.number) if place.caller is not None else None
    calls = [node for node in parts_run(caller) if isinstance(node, ast.Call)]
    handed = (given for call in calls for given in (*call.args, *(word.value for word in call.keywords)))
    return any(isinstance(one, ast.Constant) and one.value is value for one in handed)


def stepped_after(sources: Sources, late: Pass, frames: Sequence[FrameType]) -> list[Any]:
    """The optimizers that the function of the pass steps before its next pass; None for one that is not at hand."""
    if late.where is None or not frames:
        return []
    found = []
    for stepped in steps_ahead(sources, late.where.levels[-1].site):
        ways = [value_of(text, frames[0]) for text in stepped]
        known = [one for one in ways if isinstance(one, compat.torch_module().optim.Optimizer)]
        if (
            known or ways[-1] is None or ways[-1] is NOT_THERE
        ):  # what is stepped may also be a schedule, or an environment
            found.append(known[0] if known else None)
    return found
