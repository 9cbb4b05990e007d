"""What a name must be for its use to make sense: a network, a loss, an optimizer, a list.

What `backward()` is called on has a graph, so something on the way to it has parameters: that is followed back
from each loss, through names, operators and calls, to what is called on plain data. What is only called on the way
depends on what it is given. Words that people use for networks and losses decide where the way back leaves it open.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from afterward.follow.nodes import LOOPS, children, inside, kept, of_file
from afterward.interpret.fragments import vocabulary
from afterward.interpret.fragments.around import around_of
from afterward.interpret.fragments.paths import compares, is_class, makes, object_of, path_of
from afterward.interpret.fragments.uses import SELF, Key, Place, Uses, Written
from afterward.interpret.fragments.vocabulary import names_network, tokens

if TYPE_CHECKING:
    from afterward.interpret.machine.core import Frame


class Role(Enum):
    """What a value is taken for."""

    NETWORK = "network"  # has parameters; what it returns depends on them, and on what it is given
    FUNCTION = "function"  # what it returns depends on what it is given
    OPTIMIZER = "optimizer"
    SCALER = "scaler"
    LIST = "list"
    TENSOR = "tensor"  # a leaf: the file switches its `requires_grad` on
    LEAF = "leaf"  # a leaf that the file asks for its gradient
    LOSS = "loss"  # computed in each iteration, by what was not copied
    ACCELERATOR = "accelerator"  # runs the pass of a loss that it is given


@dataclass(frozen=True, slots=True)
class Meaning:
    """A role, and whether use alone shows it, without any word in a name."""

    role: Role
    by_use: bool


_BUILTIN = frozenset(dir(builtins))
_TRAINED = frozenset({Role.NETWORK, Role.TENSOR, Role.LEAF})


class Meanings:
    """The meanings of one file's names."""

    def __init__(self, tree: ast.Module) -> None:
        self.uses = Uses(tree)
        self.known: dict[Key, Meaning] = {}
        self.on_way: set[int] = set()  # ids of the calls on the way to a loss
        self.towards: set[Key] = set()  # values on the way to a loss
        self._asked: dict[tuple[int, str], Meaning | None] = {}
        self._walked: set[tuple[int, bool]] = set()
        self._applied = self._losses_applied()
        strange = self._applied | around_of(tree).unseen
        self.usual = {name: path for name, path in vocabulary.USUAL.items() if name not in strange} | self._modules()
        self._second_pass = around_of(tree).second_pass
        self._by_use(tree)
        self._factors: list[Written] = []  # of the matrix products on the way to a loss
        losses = [*self.uses.losses, *self._returned("training_step"), *self._returned("forward")]
        for loss in losses or self.uses.collected:
            self._follow(loss, True)
        self._by_words()
        self._leave_out_factories()
        self._by_products(tree)

    def of(self, key: Key) -> Meaning | None:
        return self.known.get(self.uses.one(key))

    def at(self, scope: ast.AST, path: str) -> Meaning | None:
        """What a path means in a scope, which is asked again in every iteration."""
        asked = (id(scope), path)
        if asked not in self._asked:
            places = self.uses.places
            place = places.get(id(scope)) or next(iter(places.values()))  # else that of the file, the first
            self._asked[asked] = self.of(place.key(path))
        return self._asked[asked]

    def paths(self, role: Role) -> list[str]:
        """The paths of all values with a role, each once."""
        found = {key: self.uses.group(key) for key, meaning in self.known.items() if meaning.role is role}
        return [min((path for _, path in group), key=len) for group in found.values() if group]

    def _set(self, key: Key, role: Role, by_use: bool) -> None:
        self.known.setdefault(self.uses.one(key), Meaning(role, by_use))

    def _modules(self) -> dict[str, str]:
        """Names of which only classes of one module of torch are asked for: `import torch.distributions as D`."""
        asked = {key[1]: names for key, names in self.uses.methods.items() if not self.uses.values.get(key)}
        found = {name: vocabulary.module_with(names) for name, names in asked.items() if all(map(is_class, names))}
        return {name: module for name, module in found.items() if module is not None and name.isidentifier()}

    # What use alone shows

    def _by_use(self, tree: ast.Module) -> None:
        uses = self.uses
        merged: dict[Key, set[str]] = {}
        called = {uses.one(key) for key in uses.calls}
        for key, names in uses.methods.items():
            merged.setdefault(uses.one(key), set()).update(names)
        for owner, given in uses.stepped:
            if merged.get(uses.one(owner), set()) & vocabulary.OF_SCALERS:
                merged.setdefault(uses.one(given), set()).update(("zero_grad", "step"))
                self._set(owner, Role.SCALER, True)
        for key, names in merged.items():
            if key[1] == SELF and key[0] in uses.methods_of:
                continue  # an object of a class that is shown
            words = {word for _, path in uses.group(key) for word in tokens(path)}
            is_called = key in called
            if "scale" in names and names & {"step", "update"}:
                self._set(key, Role.SCALER, True)
            elif "step" in names and not is_called and not words & vocabulary.STEPS_TOO:
                if "zero_grad" in names or any(word.startswith(vocabulary.OPTIMIZER) for word in words):
                    self._set(key, Role.OPTIMIZER, "zero_grad" in names)
            elif "zero_grad" in names and any(word.startswith(vocabulary.OPTIMIZER) for word in words):
                self._set(key, Role.OPTIMIZER, False)
            elif names & vocabulary.OF_MODULES or "forward" in names or ("zero_grad" in names and is_called):
                self._set(key, Role.NETWORK, True)
            elif names & {"requires_grad_", "retain_grad"} and not is_called:
                self._set(key, Role.TENSOR, True)
            elif "append" in names and not is_called:
                self._set(key, Role.LIST, True)
        self._given = [key for key, meaning in self.known.items() if meaning.role is Role.OPTIMIZER]
        for key in sorted(uses.differentiated, key=lambda one: one[1]):  # in the same order in every process
            is_there = not uses.values.get(key) or key in uses.changed_first
            if key[1].split(".")[0] not in self._imported() and is_there and uses.one(key) not in called:
                self._set(key, Role.LEAF, False)
        for key in sorted(uses.written_in_place, key=lambda one: one[1]) if around_of(tree).leaf else ():
            if (self._is_open(key) and not uses.values.get(key)) or key in uses.changed_first:
                self._set(key, Role.LEAF, False)
        own = {name for methods in uses.methods_of.values() for name in methods}
        for key, loss in uses.runs_pass.items() if "backward" not in own else ():
            is_free = not uses.values.get(key) and self._is_open(key) and uses.one(key) not in called
            if is_free and "step" not in merged.get(uses.one(key), ()) and self._has_source(loss, set()):
                self._set(key, Role.ACCELERATOR, True)
        for loss in uses.losses:
            path = path_of(loss.node)
            if path is not None and self._is_left_out(loss.place, path):
                self._set(loss.place.key(path), Role.LOSS, True)

    def _is_left_out(self, place: Place, path: str) -> bool:
        """Is it a name of the module that nothing assigns, nor calls, nor may have imported?"""
        key = place.key(path)
        is_global = place.outer is None and isinstance(place.node, ast.Module) and path.isidentifier()
        begun = not self.uses.values.get(key) or (key in self.uses.added_to and not self._second_pass)
        free = begun and key not in self.uses.calls and self._is_open(key)
        return is_global and free and key not in self.uses.runs_pass

    # What the way back from a loss shows

    def _follow(self, written: Written, to_loss: bool) -> None:
        """Go back from an expression: one that ends in a loss, or one that a network is given."""
        node, place = written.node, written.place
        mark = (id(node), to_loss)
        if mark in self._walked:
            return
        self._walked.add(mark)
        if isinstance(node, ast.Call):
            self._follow_call(written, node, to_loss)
            return
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            self._factors += [Written(node.left, place), Written(node.right, place)]
        path = path_of(node)
        if path is not None:
            if to_loss:
                self.towards.add(place.key(path))
            for value in self.uses.values.get(place.key(path), ()):
                self._follow(value, to_loss)
            if not isinstance(node, ast.Name):
                self._follow(Written(node.value, place), to_loss)  # type: ignore[attr-defined]
            return
        for inner in children(node):
            if isinstance(inner, ast.expr):
                self._follow(Written(inner, place), to_loss)
            elif isinstance(inner, ast.comprehension):
                self._follow(Written(inner.iter, place), to_loss)

    def _follow_call(self, written: Written, node: ast.Call, to_loss: bool) -> None:
        place, uses = written.place, self.uses
        self.on_way.add(id(node))
        given = [Written(one, place) for one in (*node.args, *(word.value for word in node.keywords))]
        function = uses.function_called(written)
        if function is not None:
            for value in uses.returns.get(id(function), ()):
                self._follow(value, to_loss)
        path = path_of(node.func)
        if path is not None and path.rsplit(".", 1)[-1] in vocabulary.PRODUCTS:
            self._factors += given
        role = self._of_called(written, path, given, to_loss) if path is not None and function is None else None
        if path is None:
            self._follow(Written(node.func, place), to_loss)
        elif isinstance(node.func, ast.Attribute) and role is None:
            self._follow(Written(node.func.value, place), to_loss)
        for one in given:
            self._follow(one, to_loss and role is not Role.NETWORK)

    def _of_called(self, written: Written, path: str, given: list[Written], to_loss: bool) -> Role | None:
        """The role of what is called on the way to a loss, if the file does not say what it is."""
        place, uses = written.place, self.uses
        owner, _, name = path.rpartition(".")
        key = place.key(path)
        if owner and self._is_value(Written(written.node.func.value, place)):  # type: ignore[attr-defined]
            return None  # a method of something computed
        if owner and name in vocabulary.OF_TENSORS:
            return None
        known = self.of(key) or (self.of(place.key(owner)) if owner else None)
        if known is not None:
            return known.role
        if not self._is_open(key):
            return None
        words = set(tokens(path))
        is_part = owner and owner != "self" and not self._holds_several(place.key(owner))
        if is_part and self._is_open(place.key(owner)) and names_network(owner):
            self._set(place.key(owner), Role.NETWORK, False)  # a method of a network
            return Role.NETWORK
        if (names_network(path) or id(written.node) in uses.hands_on) and not words & vocabulary.LOSS:
            self._set(key, Role.NETWORK, False)
            return Role.NETWORK
        if not to_loss and (not self._is_layer(place, owner) or words & vocabulary.BEGINNINGS):
            return None
        if (words & vocabulary.DATA and not words & vocabulary.LOSS) or (is_class(name) and name not in self._applied):
            return None
        seen = {id(written.node)}  # what it returned before is no other source
        takes_network = any(self._is_given_as_network(one) for one in given)
        role = Role.FUNCTION if takes_network or any(self._has_source(one, seen) for one in given) else Role.NETWORK
        self._set(key, role, role is Role.FUNCTION)
        return role

    def _holds_several(self, owner: Key) -> bool:
        """Has it several optimizers of its own? Then it holds several networks, each under a name of its own."""
        return sum(scope == owner[0] and path.startswith(f"{owner[1]}.") for scope, path in self._given) > 1

    def _is_given_as_network(self, written: Written) -> bool:
        """`penalty(discriminator, real, fake)`: is this argument a network, by its use elsewhere or by its word?"""
        path = path_of(written.node)
        if path is None or not self._is_open(key := written.place.key(path)) or self.uses.values.get(key):
            return False
        known = self.of(key)
        if known is not None:
            return known.role is Role.NETWORK
        is_one = key in self.uses.calls and names_network(path)
        if is_one or tokens(path)[-1:] in vocabulary.ALWAYS_NETWORK:
            self._set(key, Role.NETWORK, False)
            return True
        return False

    def _is_layer(self, place: Place, owner: str) -> bool:
        """Is it an attribute of an object that computes something in its `forward`? These are its layers."""
        return owner == place.first != "" and "forward" in self.uses.methods_of.get(id(place.owner), ())

    def _is_open(self, key: Key) -> bool:
        """Does the file leave open what a path is? It is not an import, nor a function or class of its own."""
        scope, path = key
        root = path.split(".", 1)[0].split("[", 1)[0]
        if (scope, root) in self.uses.functions or root in _BUILTIN:
            return False
        return root not in self._imported()

    def _imported(self) -> frozenset[str]:
        return _names_imported(next(iter(self.uses.places.values())).node) | self.usual.keys()

    def _losses_applied(self) -> set[str]:
        """Names of classes of losses that are called with what a loss compares: instances of theirs, then."""
        calls = {key[1]: [one.node for one in written] for key, written in self.uses.calls.items()}
        return {name for name in calls.keys() & vocabulary.LOSS_CLASSES if compares(calls[name])}

    def _is_value(self, written: Written) -> bool:
        """Is this computed or looped over here, so that its methods are a tensor's?"""
        path = path_of(written.node)
        if path is None:
            return True
        scope, own = written.place.key(path)
        if any(key[0] == scope and key[1].startswith(f"{own}.") for key in self._given):
            return False  # something with an optimizer of its own is no tensor
        values = self.uses.values.get((scope, own), ())
        return any(not isinstance(one.node, ast.Constant) and not makes(one.node) for one in values)

    def _has_source(self, written: Written, seen: set[int]) -> bool:
        """Does a value come out of a call that may have parameters?"""
        node, place = written.node, written.place
        if id(node) in seen or len(seen) > 400:
            return False
        seen.add(id(node))
        if isinstance(node, ast.Call) and any(word.arg == "requires_grad" for word in node.keywords):
            return True
        if isinstance(node, ast.Call):
            path = path_of(node.func)
            words = set(tokens(path)) if path is not None else set()
            key = place.key(path) if path is not None else None
            function = self.uses.function_called(written)
            if function is not None:
                return any(self._has_source(one, seen) for one in self.uses.returns.get(id(function), ()))
            if key is not None and not words & vocabulary.DATA:
                of_value = isinstance(node.func, ast.Attribute) and self._is_value(Written(node.func.value, place))
                if self.of(key) is not None or (self._is_open(key) and not of_value):
                    return True
        path = path_of(node)
        if path is not None:
            values = self.uses.values.get(place.key(path), ())
            if any(self._has_source(one, seen) for one in values if self._may_reach(one, written)):
                return True
        return any(
            self._has_source(Written(inner, place), seen) for inner in children(node) if isinstance(inner, ast.expr)
        )

    def _may_reach(self, value: Written, read: Written) -> bool:
        """May a name of a function have this value where it is read? Not one that it gets further down, in no loop."""
        first, last = read.node.lineno, value.node.lineno
        if last < first or value.place is not read.place:
            return True
        if not isinstance(read.node, ast.Name) or isinstance(read.place.node, ast.Module):
            return True
        loops = (one for one in inside(read.place.node) if isinstance(one, LOOPS))
        return any(one.lineno <= first and last <= (one.end_lineno or 0) for one in loops)

    def _leave_out_factories(self) -> None:
        """What makes a network is none: what it returns is used as one."""
        for key, values in self.uses.values.items():
            made = self.known.get(self.uses.one(key))
            for value in values if made is not None and made.role is Role.NETWORK else ():
                made_by = object_of(value.node)
                path = path_of(made_by.func) if isinstance(made_by, ast.Call) else None
                maker = self.uses.one(value.place.key(path)) if path is not None else None
                if maker in self.known and maker != self.uses.one(key) and not self.known[maker].by_use:
                    del self.known[maker]

    def _returned(self, name: str) -> list[Written]:
        """What a method of the modules of a file returns: a pass starts from it, or from what is computed from it."""
        functions = [methods[name] for methods in self.uses.methods_of.values() if name in methods]
        return [one for function in functions for one in self.uses.returns.get(id(function), ())]

    def _by_products(self, tree: ast.Module) -> None:
        """Where nothing else has parameters, what a matrix product takes and nothing assigns is a leaf, and a loss
        depends on what it is given."""
        trained = [key for key, one in self.known.items() if one.role in _TRAINED]
        losses = [key for key in trained if set(tokens(key[1])) & vocabulary.LOSS and not names_network(key[1])]
        if len(losses) < len(trained) or _words(tree) & vocabulary.MAKES_LEAVES:
            return
        leaves = [key for factor in self._factors if (key := self._free(factor)) is not None]
        for key in leaves:
            self._set(key, Role.LEAF, False)
        for key in losses if leaves else ():
            self.known[key] = Meaning(Role.FUNCTION, False)

    def _free(self, written: Written) -> Key | None:
        """The key of something that nothing in the file assigns, and that is no data which a function is given."""
        node = written.node.value if isinstance(written.node, ast.Subscript) else written.node
        path = path_of(node)
        key = written.place.key(path) if path is not None else None
        if key is None or self.uses.values.get(key) or not self._is_open(key):
            return None
        return key if key[1].startswith("self.") or not written.place.is_parameter(key) else None

    # What words show

    def _by_words(self) -> None:
        for key in list(self.uses.calls):
            if self.of(key) is None and self._is_open(key) and names_network(key[1]):
                words = set(tokens(key[1]))
                owner = key[1].rpartition(".")[0]
                if not words & (vocabulary.LOSS | vocabulary.DATA) and self.of((key[0], owner)) is None:
                    self._set(key, Role.NETWORK, False)


def _words(tree: ast.AST) -> set[str]:
    """The names, attributes and keywords in a file."""
    kinds = {ast.Attribute: "attr", ast.Name: "id", ast.keyword: "arg"}
    return {getattr(one, kinds[type(one)]) or "" for one in of_file(tree) if type(one) in kinds}


@kept
def _names_imported(tree: ast.AST) -> frozenset[str]:
    imports = (node for node in of_file(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
    bound = ((one.asname or one.name).split(".")[0] for node in imports for one in node.names)
    return frozenset(bound)


def tree_of(frame: Frame) -> ast.Module | None:
    return frame.scope.module.tree if frame.scope.module is not None else None


@kept
def meanings_of(tree: ast.Module) -> Meanings:
    return Meanings(tree)


__all__ = ["Meaning", "Meanings", "Role", "meanings_of", "tokens", "tree_of"]
