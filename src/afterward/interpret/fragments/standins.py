"""Values that stand in for what a file does not show: networks, losses and optimizers, as their use tells them.

A stand-in network has parameters, what it returns depends on them and on what it is given, and what it saves it saves
like a network of several layers. Every one that is made is written down: a finding says what it assumed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from afterward.follow.nodes import inside
from afterward.interpret.fragments import outputs, vocabulary
from afterward.interpret.fragments.losses import computed_first, is_differentiated, share_forward
from afterward.interpret.fragments.meaning import Meaning, Role, meanings_of, tokens, tree_of
from afterward.interpret.fragments.outputs import Output
from afterward.interpret.fragments.paths import path_of
from afterward.interpret.fragments.shown import class_asked_for, class_shown, is_left_out, meaning_of
from afterward.interpret.fragments.trained import ASSUMED, TRAINER, before_use
from afterward.interpret.fragments.unseen import computed_from
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.torch import module_tree, optim, ready
from afterward.interpret.machine.values import (
    OWNER,
    Args,
    Bound,
    Class,
    Function,
    Instance,
    Kwargs,
    Lib,
    Native,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.core import Frame
    from afterward.interpret.machine.machine import Machine


_EVERY = 2  # a test on a remainder holds in every second iteration, where nothing says in which
_PLAIN = {Role.LIST: list, Role.TENSOR: Tensor}  # what nothing is assumed about but its kind


@dataclass(frozen=True, slots=True)
class Assumption:
    """What one name was taken for; of an optimizer, the networks that it was taken to train."""

    role: str
    name: str
    trains: tuple[str, ...] = ()


class Assumed:
    """The stand-ins of one run."""

    def __init__(self, lenient: bool = False) -> None:
        self.lenient = lenient  # are names that are defined nowhere given their meaning?
        self.given: dict[tuple[int, str], Value] = {}  # for names that nothing assigns
        self.networks: list[Instance] = []
        self.roles: dict[str, Role] = {}
        self.trained: list[
            str
        ] = []  # classes whose objects are called in every step, with a pass from what they return
        self.numbers: dict[str, int] = {}  # what is not known, and after how many iterations a test on it comes round
        self.forward_pass: Output | None = None  # of this iteration, what several losses were computed from unseen
        self.body: ast.Module | None = None  # the file, where its statements are taken for the body of a loop

    # Asking

    def name(self, machine: Machine, frame: Frame, name: str) -> Value | None:
        """A name that is defined nowhere."""
        if not self.lenient:
            return None
        meaning = meaning_of(frame, name)
        is_optimizer = meaning is not None and meaning.role is Role.OPTIMIZER  # `optim.step()`: no module
        tree = tree_of(frame)
        usual = meanings_of(tree).usual if tree is not None else vocabulary.USUAL
        if name in usual and not is_optimizer:
            return Lib(usual[name])
        if meaning is None or (meaning.role is Role.LOSS and self.body is None):
            return None
        key = (id(tree_of(frame)), name)
        if key not in self.given:
            shown = class_shown(frame.scope.module, name, meaning.role, frame.node)
            made = machine.instantiate(shown, [], {}, None) if shown is not None else None
            self.given[key] = made if made is not None else self.make(machine, meaning.role, name)
            if meaning.role is Role.LIST and frame.scope.module is not None:  # what it holds, the program holds
                frame.scope.module.scope.names[name] = self.given[key]
        return self.given[key]

    def stored(self, machine: Machine, frame: Frame, target: ast.expr, before: Value, value: Unknown) -> Value | None:
        """Something unknown is given a name: what that name is taken for, if its use shows it."""
        path = path_of(target)
        if path is not None and self.lenient and not machine.graph.records and is_differentiated(frame, path):
            return outputs.data(machine.cut_in_mode())
        meaning = meaning_of(frame, path) if path is not None else None
        if path is not None and meaning is None and self.lenient and value.cut is None:
            return computed_from(machine, frame, path)
        if path is None or meaning is None or meaning.role is Role.LIST or not self._applies(meaning):
            return None
        if isinstance(before, Instance):  # wrapped, moved or prepared: still the same
            return before
        return self.make(machine, meaning.role, path)

    def attribute(self, machine: Machine, frame: Frame, node: ast.AST | None) -> Value | None:
        """An attribute that nothing assigns."""
        path = path_of(node) if node is not None else None
        tree = tree_of(frame) if self.lenient else None
        if path is not None and tree is not None and frame.function == "":  # of an object that is not shown
            shown = class_asked_for(frame.scope.module, meanings_of(tree), (id(tree), path))
            if shown is not None:
                made = machine.instantiate(shown, [], {}, None)
                made.label = path
                self.complete(machine, made)
                return made
        meaning = meaning_of(frame, path) if path is not None else None
        if path is None or meaning is None or not self._applies(meaning) or is_left_out(machine, frame, path):
            return None
        return self.make(machine, meaning.role, path)

    def argument(self, machine: Machine, function: Function, name: str, tree: ast.Module) -> Value:
        """A parameter of a function that nothing calls."""
        meanings = meanings_of(tree)
        place = meanings.uses.places.get(id(function.node))
        meaning = meanings.of(place.key(name)) if place is not None else None
        if place is None or meaning is None:
            return machine.unknown()
        module = function.scope.module
        shown = class_asked_for(module, meanings, place.key(name)) if meaning.role is Role.NETWORK else None
        if shown is None and self.lenient:
            shown = class_shown(module, name, meaning.role, function.node)
        if shown is None:
            return self.make(machine, meaning.role, name)
        self.roles.setdefault(name, meaning.role)
        return machine.instantiate(shown, [], {}, None)

    def taken(self, over: ast.expr, item: Value) -> None:
        """A loop took something from what it goes over: a batch of a loader has no graph."""
        words = {word for one in inside(over) if (path := path_of(one)) is not None for word in tokens(path)}
        for one in item if isinstance(item, tuple) else (item,):
            if isinstance(one, Unknown) and words & vocabulary.LOADER:
                one.plain = True

    def _applies(self, meaning: Meaning) -> bool:
        return self.lenient or meaning.by_use

    # Making

    def make(self, machine: Machine, role: Role, path: str) -> Value:
        if role in _PLAIN:
            return _PLAIN[role]()
        self.roles.setdefault(path, role)
        if role is Role.SCALER:
            return Instance(Lib("torch.amp.GradScaler"))
        if role is Role.OPTIMIZER:
            return self._optimizer(machine, path)
        if role is Role.NETWORK:
            return self._network(machine, path)
        if role is Role.LEAF:
            return machine.graph.leaf(path)
        if role is Role.ACCELERATOR:
            return Instance(Lib("accelerate.Accelerator"))
        if role is Role.LOSS:
            return self._loss(machine, path)
        return Native(lambda m, args, kwargs: function(m, args, kwargs), path)

    def _network(self, machine: Machine, path: str) -> Instance:
        made = Instance(Lib("torch.nn.Module"))
        made.label = path
        _stand_in(self, machine, made, path)
        return made

    def _loss(self, machine: Machine, path: str) -> Value:
        """A loss whose forward pass was not copied: each of the optimizers trains a part of what it depends on. Losses
        of which one is kept for the other come out of the same forward pass."""
        tree = tree_of(machine.frame)
        alike = computed_first(tree) if tree is not None else []  # of one set of parameters
        known = [one for one in self.networks if one.inner[ASSUMED] in (path, *alike) and TRAINER in one.inner]
        trainers = meanings_of(tree).paths(Role.OPTIMIZER) if tree is not None else []
        for one in () if known or self.forward_pass is not None else (trainers or [""]):
            known.append(self._network(machine, path))
            known[-1].inner[TRAINER] = one
        if self.forward_pass is not None:
            return outputs.computed(machine, "FunctionBackward", [self.forward_pass])
        made = outputs.computed(machine, "NetworkBackward", [one.attributes["weight"] for one in known])
        meaning = meanings_of(tree) if tree is not None else None
        if meaning is not None and meaning.uses.place.key(path) in meaning.uses.retained:
            machine.account.lose([made])  # what it is kept for may be what was not copied
        if isinstance(made, Output) and tree is not None and share_forward(tree):
            self.forward_pass = made
            return outputs.computed(machine, "FunctionBackward", [made])
        return made

    def _optimizer(self, machine: Machine, path: str) -> Instance:
        made = Instance(Lib("torch.optim.Optimizer"))
        made.label = path
        optim.construct(machine, made, [[]], {})
        made.inner.update({ASSUMED: path, "partial": True, "before_use": before_use})
        return made

    def foresee(self, machine: Machine) -> None:
        """A pass fails: what the optimizers train that come after it is known all the same."""
        frame = machine.frames[0]
        tree = tree_of(frame) if self.lenient else None
        for path in meanings_of(tree).paths(Role.OPTIMIZER) if tree is not None else ():
            if path.isidentifier() and path not in frame.scope.names:
                self.name(machine, frame, path)
        for optimizer in machine.optimizers if self.lenient else ():
            before_use(machine, optimizer, False)

    def begin_again(self) -> None:
        """Another iteration of pasted statements: a loss that something else computes is computed again."""
        for key in [key for key, value in self.given.items() if isinstance(value, Output)]:
            del self.given[key]
        self.forward_pass = None

    def compute_losses(self, machine: Machine, tree: ast.Module) -> None:
        """What the statements that were not copied computed before those that were."""
        for path in computed_first(tree):
            self.name(machine, machine.frames[0], path)

    def complete(self, machine: Machine, made: Instance) -> None:
        """An object of a pasted class of modules whose `forward` was not copied: it stands in for a network."""
        is_module = isinstance(made.cls, Class) and made.cls.derives_from("torch.nn.Module")
        if self.lenient and is_module and not isinstance(machine.lookup(made, "forward"), Bound):
            self.roles.setdefault(made.label, Role.NETWORK)
            _stand_in(self, machine, made, made.label)

    def remainder(self, machine: Machine, left: Value, right: Value, name: str) -> int | None:
        """`step % accumulate` in a test: something that comes round every so many iterations, every second if the
        number is not known."""
        entered = next((one.iterations[-1].number for one in reversed(machine.frames) if one.iterations), None)
        if not self.lenient or machine.tested_at is None or entered is None:
            return None
        number = left if type(left) is int else entered if type(left) is Unknown else None
        every = right if type(right) is int else _EVERY if type(right) is Unknown else None
        if number is None or not every:
            return None
        if type(right) is Unknown:
            self.numbers.setdefault(name, every)
        machine.repeats_after(every)
        return number % every

    # What was assumed

    def assumptions(self, machine: Machine) -> tuple[Assumption, ...]:
        trained: dict[str, list[str]] = {}
        for optimizer in machine.optimizers:
            path = optimizer.inner.get(ASSUMED)
            held = {id(leaf) for leaf in optimizer.inner.get("params", ())} if path else set()
            for network in self.networks:
                if path and id(network.attributes["weight"]) in held:
                    trained.setdefault(path, []).append(network.inner[ASSUMED])
        return (
            *((Assumption("body", ""),) if self.body is not None else ()),
            *self._about_losses(),
            *(Assumption("module", name) for name in self.trained),
            *(Assumption("number", name) for name in self.numbers),
            *(
                Assumption(role.value, path, tuple(trained.get(path, ())))
                for path, role in self.roles.items()
                if role not in (Role.SCALER, Role.ACCELERATOR)
            ),
        )

    def _about_losses(self) -> list[Assumption]:
        """What was taken of several losses together."""
        if self.body is None:
            return []
        losses = tuple(meanings_of(self.body).paths(Role.LOSS))
        early = [Assumption("before", "", losses)] if computed_first(self.body) else []
        return [Assumption("one_forward", "", losses), *early] if share_forward(self.body) else early


def _stand_in(assumed: Assumed, machine: Machine, made: Instance, path: str) -> None:
    """Make it a network: what it is called on gives what depends on a parameter of its own."""
    made.inner.update({ASSUMED: path, "layer": "Module", "forward": call_network})
    made.attributes.update(training=True, weight=machine.graph.leaf(f"{path}.weight", True))
    assumed.networks.append(made)


def call_network(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    """What a stand-in network returns. In a file of a project, one whose parameters are all switched off may have
    others: a network is not frozen to train nothing, and what was replaced in it is not seen in a stand-in."""
    held = [leaf for _, leaf in module_tree.parameters(owner)]  # with those of layers that the program puts into it
    if _is_several(machine, owner):
        machine.account.lose([*args, *kwargs.values()])
        return machine.unknown()
    if not machine.assumed.lenient and not any(leaf.requires_grad for leaf in held):
        machine.account.lose([*args, *kwargs.values()])
        return machine.unknown()
    made = outputs.computed(machine, "NetworkBackward", [*outputs.tensors((*args, *kwargs.values())), *held])
    if isinstance(made, Output):
        made.is_whole = machine.assumed.lenient
    return made


def _is_several(machine: Machine, owner: Instance) -> bool:
    """Has it several optimizers of its own? Then it holds several networks, and what it returns comes out of these."""
    tree = tree_of(machine.frame)
    if tree is None:
        return False
    name = str(owner.inner[ASSUMED]).rpartition(".")[2]  # `model` as an argument, `self.model` later
    holders = [one.rpartition(".")[0] for one in meanings_of(tree).paths(Role.OPTIMIZER)]
    return [one.rpartition(".")[2] for one in holders].count(name) > 1


def function(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """What a function returns whose result depends on what it is given; one that is given networks calls them, perhaps
    on data of its own making."""
    values = (*args, *kwargs.values())
    networks = [one for one in values if isinstance(one, Instance) and module_tree.is_module(one)]
    held = [leaf for one in networks for _, leaf in module_tree.parameters(one) if leaf.requires_grad]
    if held:
        return outputs.computed(machine, "FunctionBackward", held)
    found = outputs.tensors(values)
    if not any(one.requires_grad for one in found) and any(isinstance(one, Unknown) for one in values):
        cut = next((one.cut for one in found if one.cut is not None), None)
        return machine.unknown() if cut is None else outputs.data(cut)
    return outputs.computed(machine, "FunctionBackward", found)


def part_of_network(machine: Machine, owner: Instance, name: str, node: ast.AST | None) -> Value:
    """An attribute of a stand-in network: a method or a layer of it."""
    if name == "forward":
        return Native(lambda m, args, kwargs: owner.inner["forward"](m, owner, args, kwargs), name)
    if ready.is_ready(owner):
        return ready.part(machine, owner, name)
    meaning = machine.assumed.attribute(machine, machine.frame, node)
    if meaning is not None:
        owner.attributes[name] = meaning
        return meaning
    if set(tokens(name)) & vocabulary.BEGINNINGS:
        return Native(lambda m, args, kwargs: Tensor(), name)

    def run(m: Machine, args: Args, kwargs: Kwargs) -> Value:
        if not m.assumed.lenient:  # a project's networks have methods of every kind
            m.account.lose([*args, *kwargs.values()])
            return m.unknown()
        made = call_network(m, owner, args, kwargs)
        if isinstance(made, Output):
            made.is_whole = False  # a method may return anything
        return made

    part = Native(run, name)
    part.attributes[OWNER] = owner
    return part


def is_network(value: Value) -> bool:
    """Does it stand in for a network?"""
    return isinstance(value, Instance) and "forward" in value.inner


__all__ = ["ASSUMED", "Assumed", "Assumption", "Output", "before_use", "call_network", "is_network"]
