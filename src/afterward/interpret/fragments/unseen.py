"""What code that was not copied, or is not known here, does with values: what it computes from them, what it leaves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from afterward.follow.nodes import children
from afterward.follow.reading import is_cut_off
from afterward.interpret.fragments import outputs
from afterward.interpret.fragments.losses import is_differentiated
from afterward.interpret.fragments.meaning import Meanings, Role, meanings_of, tree_of
from afterward.interpret.fragments.reading import clears_gradients, ends_in_pass
from afterward.interpret.fragments.trained import ASSUMED
from afterward.interpret.machine.values import Stream, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.core import Frame
    from afterward.interpret.machine.machine import Machine


def computed_from(machine: Machine, frame: Frame, path: str) -> Value | None:
    """Something on the way to a loss, computed in a way that is not known here: it depends on what it is computed from.
    What a loop goes over hands out parts of what it was made of."""
    tree, statement = tree_of(frame), frame.statement
    if tree is None or not isinstance(statement, ast.Assign) or not machine.graph.records:
        return None
    meanings = meanings_of(tree)
    place = meanings.uses.places.get(id(frame.node)) or meanings.uses.places[id(tree)]
    if place.key(path) not in meanings.towards:
        return None
    names = dict.fromkeys(_connected(statement.value))
    found = outputs.tensors(frame.scope.names[name] for name in names if name in frame.scope.names)
    if not any(one.requires_grad for one in found):
        return _unseen_loss(machine, frame, meanings, path)
    if any(key in meanings.uses.iterated for key in meanings.uses.group(place.key(path))):
        return Stream(lambda: tuple(outputs.computed(machine, "SliceBackward0", [one]) for one in found))
    return outputs.computed(machine, "FunctionBackward", found)


def _unseen_loss(machine: Machine, frame: Frame, meanings: Meanings, path: str) -> Value | None:
    """A loss of which nothing is known but that `backward()` is called on it: it depends on what is trained here, if
    that is one thing, and if it is not kept for what else may depend on it."""
    several = len(meanings.paths(Role.OPTIMIZER)) > 1 or any(ASSUMED not in one.inner for one in machine.optimizers)
    if several or meanings.uses.retained or not is_differentiated(frame, path):
        return None
    held = [one.attributes["weight"] for one in machine.assumed.networks]
    return (
        outputs.computed(machine, "NetworkBackward", held) if held else machine.assumed.make(machine, Role.LOSS, path)
    )


def _connected(node: ast.AST) -> Iterator[str]:
    """The names in an expression, but for what is cut off in it."""
    if isinstance(node, ast.Name):
        yield node.id
    elif not (isinstance(node, ast.expr) and is_cut_off(node)):
        for one in children(node):
            yield from _connected(one)


def trust(machine: Machine) -> None:
    """Functions that were not copied clear no gradients of what is trained here, where the clearing was copied. What
    comes after a last line that is a pass may step every optimizer that waits for it."""
    tree = next(iter(machine.modules.values())).tree if machine.assumed.lenient else None
    account, trained = machine.account, {id(leaf) for made in machine.passes for leaf in made.leaves}
    if tree is not None and clears_gradients(tree):
        for leaf in trained - account.steered:
            account.touched.pop(leaf, None)
    if tree is not None and ends_in_pass(tree):
        stepped = [one.optimizer for one in machine.steps]
        waiting = [one for one in machine.optimizers if one not in stepped]
        account.touched |= {id(leaf): leaf for one in waiting for leaf in one.inner["params"]}
