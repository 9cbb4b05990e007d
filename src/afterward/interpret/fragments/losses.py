"""What the file shows of losses whose forward pass it does not show."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from afterward.interpret.fragments.around import around_of
from afterward.interpret.fragments.meaning import Role, meanings_of, tree_of
from afterward.interpret.fragments.paths import path_of

if TYPE_CHECKING:
    from afterward.interpret.machine.core import Frame


def share_forward(tree: ast.Module) -> bool:
    """Do losses whose forward pass was not copied have it in common? One keeps its graph for another, or PyTorch says
    so in the text around."""
    meanings = meanings_of(tree)
    several = len(meanings.paths(Role.LOSS)) > 1
    kept = any(one is not None and one.role is Role.LOSS for one in map(meanings.of, meanings.uses.retained))
    return several and (kept or around_of(tree).second_pass)


def is_differentiated(frame: Frame, path: str) -> bool:
    """Is `backward()` called on this?"""
    tree = tree_of(frame)
    if tree is None:
        return False
    uses = meanings_of(tree).uses
    place = uses.places.get(id(frame.node)) if frame.node is not None else None
    own = (place or uses.places[id(tree)]).key(path)
    starts = ((one.place, path_of(one.node)) for one in uses.losses)
    return any(other is not None and of.key(other) == own for of, other in starts)


def computed_first(tree: ast.Module) -> list[str]:
    """The losses that were computed before the statements that were copied: so late that an update came between, if
    PyTorch says so in the text around."""
    return meanings_of(tree).paths(Role.LOSS) if around_of(tree).in_place else []


def losses_begun(tree: ast.Module) -> list[str]:
    """The losses that what was not copied begins in each iteration, also those to which something is added then."""
    return meanings_of(tree).paths(Role.LOSS)


__all__ = ["computed_first", "is_differentiated", "losses_begun", "share_forward"]
