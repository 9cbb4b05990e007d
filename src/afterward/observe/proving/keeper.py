"""Keeps the record of training in a run that is to prove a patch: which loss was used by which step, for what.

A proof may cost time, so every pass and every step is looked at here; a watched program is never looked at like this.
"""

from __future__ import annotations

import gc
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from afterward.model.training import Border, Carried, Cleared, Edited, Line, PassTaken, StepTaken, Training, Use
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, leading_to, roots_of, saved_bytes, walk
from afterward.observe.identities import Identities
from afterward.observe.marks.stack import user_frames
from afterward.observe.marks.statements import COUNTER, ENTER, EXIT, KEEPS, RESUME, SHIFT, SUSPEND, Statement
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.node_numbers import next_node, order_of
from afterward.observe.provenance.naming import Names, search
from afterward.observe.proving.alike import Alike
from afterward.observe.proving.carried import Handover
from afterward.observe.proving.drawn import Drawn
from afterward.observe.proving.sampled import digest, sampled
from afterward.observe.proving.terms import is_number, terms_of
from afterward.observe.recording.recorder import Recorders
from afterward.observe.recording.replicas import Replicas, place_in_job

FIRST, LAST = 1200, 300  # happenings kept from the beginning and from the end of a run
BACK = 1 << 14  # marks that are looked through for the caller of a function that has ended

State = tuple[int, int] | None  # of a gradient: where it lies and how often it was written to; None: there is none


@dataclass
class Keeper:
    """Follows every gradient from the passes that produce it to the step that uses it, or to its clearing."""

    recorders: Recorders
    border: Border | None = None
    training: Training = field(default_factory=Training)
    passes: int = 0
    _parameters: Identities = field(default_factory=Identities)
    _optimizers: Identities = field(default_factory=Identities)
    _others: Identities = field(default_factory=Identities)  # leaves that no module and no optimizer holds
    _sources: dict[int, list[int]] = field(default_factory=dict)  # number -> passes since it was cleared
    _states: dict[int, State] = field(default_factory=dict)  # of each gradient after the last happening
    _edited: set[int] = field(default_factory=set)
    _running: list[tuple[PassTaken, dict[int, State]]] = field(default_factory=list)
    _steps: list[StepTaken] = field(default_factory=list)  # those that are being taken
    _began: dict[Line | None, int] = field(default_factory=dict)  # the node counter at the last pass of each line
    _stepped: dict[int, int] = field(default_factory=dict)  # number -> a node counter since which it was changed
    _values: dict[int, tuple[str, int]] = field(default_factory=dict)  # number -> its values, the node counter then
    _named: set[int] = field(default_factory=set)
    _kept_parts: dict[int, Any] = field(default_factory=dict)  # of what FSDP2 has gathered for this pass
    _handover: Handover | None = None
    _alike: Alike = field(default_factory=Alike)
    _drawn: Drawn = field(default_factory=Drawn)
    _replicas: Replicas = field(default_factory=Replicas)

    # Who takes part

    def install(self) -> Callable[[], None]:
        """Number parameters and optimizers as they are made, and see every clear. Returns what undoes it."""
        torch = compat.torch_module()
        base, module = torch.optim.Optimizer, torch.nn.Module
        add_group, clear, clear_module = base.add_param_group, base.zero_grad, module.zero_grad

        def add_param_group(optimizer: Any, param_group: Any) -> None:
            add_group(optimizer, param_group)
            self._holds(optimizer)

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._notice()
            clear(optimizer, *args, **kwargs)
            self._cleared(_held(optimizer))

        def zero_module(one: Any, *args: Any, **kwargs: Any) -> None:
            self._notice()
            clear_module(one, *args, **kwargs)
            self._cleared(module.parameters(one))

        base.add_param_group, base.zero_grad, module.zero_grad = add_param_group, zero_grad, zero_module
        registering = torch.nn.modules.module.register_module_parameter_registration_hook(self._registered)

        def undo() -> None:
            base.add_param_group, base.zero_grad, module.zero_grad = add_group, clear, clear_module
            registering.remove()

        return undo

    def _registered(self, module: Any, name: str, parameter: Any) -> None:
        if parameter is not None:
            self._parameters.of(parameter)

    def _holds(self, optimizer: Any) -> int:
        number = self._optimizers.of(optimizer)
        self.training.holds[number] = tuple(self._parameters.of_late(p) for p in _held(optimizer))
        return number

    # Passes

    def pass_begins(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """Note a pass; the bytes of its graph, where it could be walked."""
        self._notice()
        self.passes += 1
        taken = PassTaken(self.passes, _here(), _value(outputs), bool(kwargs.get("accumulate_grad", True)))
        taken.in_step, taken.random = bool(self._steps), self._drawn.digest()
        self.training.place = self.training.place or place_in_job()
        for step in self._steps:
            step.closure = True
        self._look(taken, outputs, (args[3] if len(args) > 3 else ()) or ())
        self._add(taken)
        self._running.append((taken, dict(self._states)))
        return [taken.size] if taken.looked else []

    def pass_fails(self) -> None:
        if self._running:
            self._running[-1][0].failed = True

    def pass_ends(self) -> None:
        if not self._running:
            return
        taken, before = self._running.pop()
        for number, tensor in self._parameters.living():
            state = _state(tensor)
            if state != before.get(number) and state is not None and taken.accumulates:
                self._sources.setdefault(number, []).append(taken.number)
            self._states[number] = state
        if self.border is not None and taken.number == self.border.before:
            self._handover = Handover.at(self.border, sys._getframe(1))

    def _look(self, taken: PassTaken, outputs: Any, inputs: Iterable[Any]) -> None:
        """Walk the graph that a pass is about to go through."""
        roots = [node for node, _ in roots_of(outputs)]
        found = walk(roots, limit=LOOK_NODES)
        if len(found.inputs) < len(found.nodes):
            taken.looked = False
            return
        wanted = list(inputs)
        self._kept_parts = {id(whole): part for part, whole in compat.gathered_parameters()}
        executed = sorted(leading_to(found, wanted)) if wanted else range(len(found.nodes))
        leaves = [self._fed(found.nodes[place]) for place in executed]
        if wanted:
            leaves += [tensor for tensor in wanted if getattr(tensor, "is_leaf", False)]
        known = {id(leaf): self._parameters.at(id(leaf)) for leaf in leaves if leaf is not None}
        taken.reached = frozenset(number for number in known.values() if number is not None)
        others = {id(leaf): tuple(leaf.shape) for leaf in leaves if leaf is not None and known[id(leaf)] is None}
        taken.inputs = tuple(sorted(others.values()))
        since = self._began.get(taken.at, 0)
        newer = {place for place in executed if order_of(found.nodes[place]) >= since}
        behind = {below for place in newer for below, _ in found.nodes[place].next_functions if below is not None}
        fresh = (self._parameters.at(id(self._fed(below))) for below in behind)
        taken.fresh = frozenset(number for number in fresh if number is not None)
        self._compare(leaf for leaf in leaves if leaf is not None)
        taken.stale = frozenset(self._stale(found.nodes[place] for place in executed))
        lines = _Lines(self.recorders)
        taken.through = frozenset(line for place in executed if (line := lines.of(found.nodes[place])) is not None)
        if self._handover is not None and self.border is not None and taken.number == self.border.after:
            self.training.carried = self._carried_into([below for below in behind if order_of(below) < since])
        orders = [order for place in executed if (order := order_of(found.nodes[place])) != compat.LEAF_ORDER]
        taken.oldest, taken.counter = min(orders, default=-1), next_node()
        self._began[taken.at] = taken.counter
        terms = terms_of(roots)
        led = {node: self._leads_to(node) for node in terms}
        taken.led = Counter(number for numbers in led.values() for number in numbers)
        trained = [node for node in terms if len(terms) == 1 or led[node]]
        taken.terms = tuple(sorted(line for line in map(lines.of, trained) if line is not None))
        made = sorted((order_of(node), each.weight) for node, each in terms.items() if is_number(node))
        taken.shares = tuple(weight for order, weight in made if order >= since)
        numbers = {node: self._alike.order(node) for node in terms if is_number(node)}
        taken.numbers = frozenset(numbers.values())
        times: Counter[Any] = Counter()
        for node, each in terms.items():
            times[numbers.get(node, node)] += each.times
        several = (node for node in terms if times[numbers.get(node, node)] > 1)
        taken.doubled = frozenset(line for line in map(lines.of, several) if line is not None)
        for node, each in terms.items():
            if (line := lines.of(node)) is not None:
                taken.weights[line] = taken.weights.get(line, 0.0) + each.weight
        taken.size = saved_bytes(found.nodes[place] for place in executed)

    def _carried_into(self, nodes: list[Any]) -> tuple[Carried, ...]:
        """What the loop had names for as the step before ended; and what it has names for now, where a function that it
        calls has made the value and given it back since."""
        assert self.border is not None
        known = self._handover.into(nodes) if self._handover is not None else []
        seen = self._handover.orders if self._handover is not None else frozenset()
        now = Handover.at(self.border, sys._getframe(1))
        return (*known, *(now.into(node for node in nodes if order_of(node) not in seen) if now is not None else ()))

    def _fed(self, node: Any) -> Any:
        """The leaf whose gradient a node adds to, if it does: of one that FSDP2 has gathered, the part that is kept."""
        leaf = getattr(node, "variable", None)
        return self._kept_parts.get(id(leaf), leaf)

    def _leaf(self, leaf: Any) -> int | None:
        """A leaf's number: of a parameter its own; of another one, an input that is changed by hand, a negative one."""
        number = self._parameters.at(id(leaf))
        return number if number is not None or leaf is None else -1 - self._others.of(leaf)

    def _compare(self, leaves: Iterable[Any]) -> None:
        """The program may write to a leaf itself, and torch does not notice all of that (`.data`)."""
        for leaf in leaves:
            number = self._leaf(leaf)
            if number is not None:
                values, (before, then) = digest(leaf), self._values.get(number, ("", 0))
                if before and values != before:
                    self._stepped[number] = max(self._stepped.get(number, 0), then)
                self._values[number] = (values, next_node())

    def _stale(self, nodes: Iterable[Any]) -> Iterator[int]:
        """The leaves that these nodes were made of, and that have been changed since."""
        for node in nodes:
            for below, _ in node.next_functions:
                leaf = self._fed(below)
                if (number := self._leaf(leaf)) is not None and order_of(node) < self._stepped.get(number, 0):
                    self._name_leaf(number, leaf)
                    yield number

    def _name_leaf(self, number: int, leaf: Any) -> None:
        """What the program calls a leaf that no module holds."""
        if number < 0 and number not in self.training.names:
            names = search(user_frames(sys._getframe(1), is_user_file), is_user_file)
            self.training.names[number] = names.leaves.get(id(leaf), "a leaf")

    def _leads_to(self, term: Any) -> set[int]:
        """The parameters that a number leads to; none: to tensors that nothing steps."""
        leaves = (self._fed(node) for node in walk([term], limit=LOOK_NODES).nodes)
        return {number for leaf in leaves if (number := self._parameters.at(id(leaf))) is not None}

    # Steps and clears

    def step_begins(self, optimizer: Any) -> None:
        self._notice()
        number = self._holds(optimizer)
        nth = self.training.taken[number] = self.training.taken.get(number, 0) + 1
        if number not in self._named:
            self._name(number, optimizer)
        step = StepTaken(number, nth, _here(), random=self._drawn.digest())
        self._steps.append(step)
        self._use(step, optimizer)

    def step_ends(self, optimizer: Any) -> None:
        if not self._steps:
            return
        step = self._steps.pop()
        self._notice(by_optimizer=True)
        if step.closure:
            self._use(step, optimizer)
        self._alike.stepped()
        self._stepped.update(dict.fromkeys(step.uses, next_node()))
        self._add(step)

    def _use(self, step: StepTaken, optimizer: Any) -> None:
        step.uses = {}
        numbers = {id(parameter): self._parameters.of_late(parameter) for parameter in _held(optimizer)}
        self.training.replicated |= {numbers[each] for each in self._replicas.held(numbers)}
        for parameter in _held(optimizer):
            number, gradient = numbers[id(parameter)], parameter.grad
            if gradient is not None:
                sources = tuple(self._sources.get(number, ()))
                step.uses[number] = Use(sources, digest(gradient), sampled(gradient), number in self._edited)

    def _cleared(self, parameters: Iterable[Any]) -> None:
        cleared = set()
        for parameter in parameters:
            number = self._parameters.at(id(parameter))
            if number is not None:
                cleared.add(number)
                self._sources.pop(number, None)
                self._edited.discard(number)
                self._states[number] = _state(parameter)
        self._add(Cleared(frozenset(cleared), _here()))

    def _notice(self, by_optimizer: bool = False) -> None:
        """What has become of the gradients since the last happening, other than by a pass."""
        emptied, edited = set(), set()
        for number, tensor in self._parameters.living():
            state = _state(tensor)
            if state == self._states.get(number):
                continue
            if state is None or not bool(compat.own_part(tensor.grad).any()):
                emptied.add(number)
                self._sources.pop(number, None)
                self._edited.discard(number)
            else:
                self._edited.add(number)
                edited.add(number)
            self._states[number] = state
        if emptied:
            self._add(Cleared(frozenset(emptied), None))
        if edited and not by_optimizer:
            self._add(Edited(frozenset(edited)))

    def _add(self, happening: Any) -> None:
        kept = self.training.happenings
        kept.append(happening)
        if len(kept) > FIRST + 2 * LAST:
            del kept[FIRST:-LAST]

    # Names

    def _name(self, number: int, optimizer: Any) -> None:
        """What the program calls its optimizers, modules and parameters, as they can be seen from here."""
        self._named.add(number)
        names = search(user_frames(sys._getframe(1), is_user_file), is_user_file)
        self.training.optimizers.setdefault(number, type(optimizer).__name__)
        for name, found in names.optimizers.values():
            self.training.optimizers[self._optimizers.of(found)] = name
        parameters = compat.torch_module().nn.Module.named_parameters
        for module, name in sorted(_modules(names), key=lambda one: (len(one[1]), one[1])):
            held = {n: own for own, p in parameters(module) if (n := self._parameters.at(id(p))) is not None}
            for known, own in held.items():
                self.training.names.setdefault(known, f"{name}.{own}")
            if held:
                self.training.modules.setdefault(name, tuple(held))
        for known, parameter in self._parameters.living():
            if id(parameter) in names.leaves:
                self.training.names.setdefault(known, names.leaves[id(parameter)])


def _modules(names: Names) -> Iterator[tuple[Any, str]]:
    """The modules behind the names that a search has found."""
    kind = compat.torch_module().nn.Module
    for thing in gc.get_objects():
        if id(thing) in names.modules and isinstance(thing, kind):
            yield thing, names.modules[id(thing)]


def _held(optimizer: Any) -> Iterator[Any]:
    return (parameter for group in optimizer.param_groups for parameter in group["params"])


class _Lines:
    """Tells which statement made a node, by the marks of the thread."""

    def __init__(self, recorders: Recorders) -> None:
        recorder = recorders.current()
        self._table = recorder.statements.table
        self._marks = recorder.marks
        self._known: dict[int, Line | None] = {}

    def of(self, node: Any) -> Line | None:
        order = order_of(node)
        if order == compat.LEAF_ORDER or not self._marks:
            return None
        if order not in self._known:
            place = bisect_right(self._marks, order, key=lambda mark: mark & COUNTER) - 1
            statement = self._running_at(place) if place >= 0 else None
            self._known[order] = Line(statement.file, statement.line) if statement is not None else None
        return self._known[order]

    def _running_at(self, place: int) -> Statement:
        """Where a function has ended, its caller goes on: the statement before that function's first."""
        depth = 0
        for each in range(place, max(place - BACK, -1), -1):
            statement = self._table[self._marks[each] >> SHIFT]
            if statement.flags & (EXIT | SUSPEND):
                depth += 1
            elif statement.flags & KEEPS:
                break  # marks were off before
            elif not depth:
                return statement
            elif statement.flags & (ENTER | RESUME):
                depth -= 1
        return self._table[self._marks[place] >> SHIFT]


def _here() -> Line | None:
    for frame in user_frames(sys._getframe(2), is_user_file):
        return Line(frame.f_code.co_filename, frame.f_lineno)
    return None


def _value(outputs: Any) -> str:
    several = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    return " ".join(digest(one) for one in several if isinstance(one, compat.torch_module().Tensor))


def _state(tensor: Any) -> State:
    gradient = tensor.grad
    return None if gradient is None else (id(gradient), compat.own_part(gradient)._version)
