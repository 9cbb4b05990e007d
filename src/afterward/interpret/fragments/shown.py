"""What the project shows of a name that stands for something unknown: its class, and what its use says it is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from afterward.interpret.fragments import vocabulary
from afterward.interpret.fragments.meaning import Meaning, Meanings, Role, meanings_of, tokens, tree_of
from afterward.interpret.fragments.uses import SELF, Key
from afterward.interpret.machine.values import Class, Function, Instance, Module

if TYPE_CHECKING:
    from afterward.interpret.machine.core import Frame
    from afterward.interpret.machine.machine import Machine


def class_shown(module: Module | None, name: str, role: Role, asked_in: ast.AST | None) -> Class | None:
    """The class of modules that a name must be an object of: the file shows it and builds none, and it shares a word
    with the name, or there is no other network that it could be. It is not the one whose method asks."""
    if module is None or module.tree is None or role not in (Role.NETWORK, Role.FUNCTION):
        return None
    meanings = meanings_of(module.tree)
    own = (path for _, path in meanings.uses.calls if path.split(".", 1)[0] not in vocabulary.USUAL)  # not `nn.LSTM`
    built = {path.rsplit(".", 1)[-1] for path in own}
    classes = [
        one
        for one in module.scope.names.values()
        if isinstance(one, Class) and one.derives_from("torch.nn.Module") and one.name not in built
        if not any(isinstance(member, Function) and member.node is asked_in for member in one.attributes.values())
    ]
    alike = [one for one in classes if set(tokens(one.name)) & set(tokens(name))]
    if len(alike) == 1:
        return alike[0]
    others = [one for one in meanings.paths(Role.NETWORK) if one != name and not one.startswith("self.")]
    others += [
        one for one in meanings.paths(Role.FUNCTION) for cls in classes if set(tokens(one)) & set(tokens(cls.name))
    ]
    single = len(classes) == 1 and role is Role.NETWORK and not others
    return classes[0] if single else None


def class_asked_for(module: Module | None, meanings: Meanings, key: Key) -> Class | None:
    """The one class of modules in the file that has the methods which a network is asked for."""
    asked = {
        name for one in meanings.uses.group(key) for name in meanings.uses.methods.get(one, ())
    } - vocabulary.OF_TENSORS
    fitting = [
        one
        for one in (module.scope.names.values() if module is not None and asked else ())
        if isinstance(one, Class) and one.derives_from("torch.nn.Module") and asked <= one.attributes.keys()
    ]
    return fitting[0] if len(fitting) == 1 else None


def meaning_of(frame: Frame, path: str) -> Meaning | None:
    tree = tree_of(frame)
    if tree is None:
        return None
    found = meanings_of(tree).at(frame.node if frame.node is not None else tree, path)
    first = getattr(getattr(frame.node, "args", None), "args", None)
    if (
        found is not None
        or not first
        or not isinstance(frame.first, Instance)
        or not path.startswith(f"{first[0].arg}.")
    ):
        return found
    return _of_class(frame.first, path.partition(".")[2], tree)


def is_left_out(machine: Machine, frame: Frame, path: str) -> bool:
    """Would a function that ran have assigned it, in a branch that was not taken? Then this code is for when it was."""
    tree = tree_of(frame)
    uses = meanings_of(tree).uses if tree is not None else None
    place = uses.places.get(id(frame.node)) if uses is not None else None
    if uses is None or place is None:
        return False
    return any(id(one.place.node) in machine.executed for one in uses.values.get(place.key(path), ()))


def _of_class(owner: Instance, name: str, tree: ast.Module) -> Meaning | None:
    """What an attribute means in another file, which shows more of the object's class."""
    for cls in owner.order:
        functions = (
            (one for one in cls.attributes.values() if isinstance(one, Function)) if isinstance(cls, Class) else ()
        )
        module = next((one.scope.module for one in functions), None)
        if module is None or module.tree is None or module.tree is tree:
            continue
        found = meanings_of(module.tree).of((id(cls.node), f"{SELF}.{name}"))
        if found is not None:
            return found
    return None
