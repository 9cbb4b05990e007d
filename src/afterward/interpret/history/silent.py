"""Writes the `History` of a program that does not fail, for the rules about silent faults. Only what is certain is
written: what went out of sight (`account`) is left out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from afterward.follow.nodes import of_file
from afterward.interpret.fragments.unseen import trust
from afterward.interpret.graph.flat_parts import find_flat_parts
from afterward.interpret.graph.graph import Cutting, GraphNode, Tensor
from afterward.interpret.graph.keeping import with_text
from afterward.interpret.graph.unused_records import kept_for_nothing, kept_in_evaluation
from afterward.interpret.history.numbers import numbers_beside
from afterward.interpret.history.path import Path
from afterward.interpret.library.torch.module_tree import as_written, parameters
from afterward.model.gradients import MISSING, PRODUCED, UNSEEN, Entry
from afterward.model.history import (
    Cut,
    Edge,
    History,
    Leaf,
    Optimizer,
    Pass,
    Step,
)
from afterward.model.site import Where, dated_site
from afterward.model.steps import with_library_steps

if TYPE_CHECKING:
    from afterward.interpret.library.torch.passes import PassMade, StepMade
    from afterward.interpret.machine.machine import Machine
    from afterward.interpret.machine.values import Instance


def is_quiet(machine: Machine) -> bool:
    """Has a run come to a pass, and did none fail?"""
    return bool(machine.passes) and not machine.broken


def evaluation(machine: Machine) -> History | None:
    """What was pasted of an evaluation, in which no pass is: the records that keep graphs, and nothing else."""
    if machine.passes or machine.broken or not machine.assumed.lenient:
        return None
    kept = [with_text(machine, one) for one in kept_in_evaluation(machine)]
    return History(kept=tuple(kept), observed=False) if kept else None


def history(machine: Machine) -> History:
    """What one run of a program that does not fail has shown."""
    account = machine.account
    account.lose(account.strange)
    trust(machine)
    held = (leaf for one in machine.optimizers for leaf in one.inner.get("params", ()) if isinstance(leaf, Tensor))
    every = list({id(leaf): leaf for leaf in (*machine.graph.leaves, *held)}.values())
    leaves = {id(leaf): number for number, leaf in enumerate(every)}
    lost = {node.number for node in machine.graph.reach(account.lost.values())}
    unsure = account.touched.keys() | {
        id(n.leaf) for n in machine.graph.reach(account.lost.values()) if n.leaf is not None
    }
    unsure |= _reached_by_gradients(machine)
    owners: dict[int, list[str]] = {}
    for optimizer in machine.optimizers:
        for leaf in optimizer.inner.get("params", ()):
            owners.setdefault(id(leaf), []).append(optimizer.label or optimizer.class_name)

    def numbers(some: Iterable[Tensor]) -> frozenset[int]:
        return frozenset(leaves[id(one)] for one in some if id(one) in leaves and id(one) not in account.touched)

    passes = []
    path = Path(machine)
    for one in machine.passes:
        used = frozenset(number for number in one.used if number >= 0)
        passes.append(
            Pass(
                one.number,
                one.where,
                one.moment,
                tuple(Edge(node.number, slot) for node, slot in one.roots),
                one.call,
                one.retains,
                one.creates,
                used,
                nested_in=one.nested_in,
                nested=one.nested_in is not None,
                created=one.created,
                receiver=one.receiver,
                # Something unknown may use it again: not to be compared with the next.
                window=0 if not (used & lost or _is_open(machine, one, lost)) else 1 + one.number,
                reached=numbers(one.leaves),
                asked=numbers(one.handed),
                stale=numbers(one.stale),
                overwritten=numbers(one.overwritten),
                reads=path.reads(one.where),
                open=one.open,
            )
        )
    identity = {id(optimizer): number for number, optimizer in enumerate(machine.optimizers)}
    steps = tuple(
        Step(
            one.where,
            one.moment,
            one.optimizer.label or one.optimizer.class_name,
            numbers(one.leaves),
            unnoticed=bool(one.optimizer.inner.get("fused")),
            owner=identity.get(id(one.optimizer), -1),
            id=number,
        )
        for number, one in enumerate(machine.steps)
    )
    seen = History(
        (),
        tuple(passes),
        steps,
        leaves=tuple(_leaves(machine, every, unsure, owners)),
        optimizers=tuple(
            _optimizer(machine, number, one, numbers, unsure) for number, one in enumerate(machine.optimizers)
        ),
        cuts=tuple(_cuts(machine, numbers)),
        gradients=tuple(_gradients(machine, numbers, unsure)),
        values=tuple(account.held),
        kept=tuple(with_text(machine, one) for one in (*account.kept.values(), *kept_for_nothing(machine, lost))),
        fed=tuple(find_flat_parts(machine)),
        built=path.built(lost),
        numbers=tuple(numbers_beside(machine, lost, owners, leaves)) if not account.blind else (),
        observed=False,
    )
    return with_library_steps(seen)


def _is_open(machine: Machine, made: PassMade, lost: set[int]) -> bool:
    """Did something unknown get hold of what `create_graph=True` made, or of an input that is itself trained? What came
    back from there may lead to a graph that is not seen. Or was nothing followed of what the pass goes through?"""
    if not made.used:
        return True
    inputs = [leaf for leaf in made.leaves if not leaf.is_parameter]
    if any(made.open or id(leaf) in machine.account.touched for leaf in inputs):
        return True
    return len(made.created) == 2 and any(number in lost for number in range(*made.created))


def _cuts(machine: Machine, numbers: Callable[[Iterable[Tensor]], frozenset[int]]) -> Iterator[Cut]:
    """The cuts that keep leaves of optimizers from losses: the last ones before the first step that changes nothing,
    which lie in the loss that it is for."""
    met = _cuts_in_losses(machine) if machine.optimizers and machine.account.cut else set()
    for optimizer in machine.optimizers:
        steps = [step for step in machine.steps if step.optimizer is optimizer]
        late = steps[len(steps) - _still(steps) :] or steps
        cuts = _cut_leaves(machine, late[0].moment) if late else {}
        by_cut: dict[int, list[Tensor]] = {}
        for leaf in optimizer.inner.get("params", ()):
            if _is_cut_off(machine, leaf, cuts, met):
                by_cut.setdefault(id(cuts[id(leaf)]), []).append(leaf)
        for leaves in by_cut.values():
            cut = cuts[id(leaves[0])]
            yield Cut(cut.where, cut.how, cut.name, cut.site, numbers(leaves))


def _still(steps: list[StepMade]) -> int:
    """How many of these steps, the last ones, changed nothing."""
    return next((number for number, step in enumerate(reversed(steps)) if step.leaves), len(steps))


def _leaves(machine: Machine, every: list[Tensor], unsure: set[int], owners: dict[int, list[str]]) -> Iterator[Leaf]:
    taken = _taken(machine, unsure, owners)
    reached = {id(leaf) for one in machine.passes for leaf in one.leaves}
    cut = _cut_leaves(machine)
    stepped = {id(leaf) for step in machine.steps for leaf in step.leaves}
    modules: dict[int, str] = {}
    names: dict[int, str] = {}  # by which the modules that the program trains have them now
    for number, owner in enumerate(machine.account.asked.values()):
        for name, leaf in parameters(owner):
            modules.setdefault(id(leaf), str(number))
            names.setdefault(id(leaf), as_written(f"{owner.label}.{name}"))
    for number, leaf in enumerate(every):
        key = id(leaf)
        held = key in owners
        yield Leaf(
            number,
            leaf.label if held else names.get(key, leaf.label),
            tuple(owners.get(key, ())),
            taken=taken.get(key),
            trains=leaf.needs,
            met=key in reached,
            moved=key in stepped or _changed_by_hand(machine, leaf),
            followed=key not in unsure,
            recorded=key in machine.graph.used and key not in cut,
            module=modules.get(key, ""),
        )


def _optimizer(
    machine: Machine,
    number: int,
    one: Instance,
    numbers: Callable[[Iterable[Tensor]], frozenset[int]],
    unsure: set[int],
) -> Optimizer:
    held = one.inner.get("params", ())
    partial, assumed = bool(one.inner.get("partial")), "before_use" in one.inner
    steps = [step for step in machine.steps if step.optimizer is one]
    return Optimizer(
        number,
        one.label or one.class_name,
        numbers(held),
        followed=not machine.account.blind and not (assumed and partial),
        hidden=sum(id(leaf) in unsure for leaf in held) + partial,
        had_gradient=any(step.leaves for step in steps),
        still=_still(steps),
        unread=not steps and _is_unread(machine, one.label),
    )


def _is_unread(machine: Machine, label: str) -> bool:
    """Is a name given once, and mentioned nowhere else in the code of the program, in no text either? An attribute of
    a class that other files may use is not known to be unread."""
    name = label.rpartition(".")[2]
    is_library = any(module.name == "__library__" for module in machine.modules.values())
    if not name.isidentifier() or machine.assumed.lenient or ("." in label and is_library):
        return False
    trees = (module.tree for module in machine.modules.values() if module.tree is not None)
    return sum(_mentions(node, name) for tree in trees for node in of_file(tree)) == 1


def _mentions(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and name in node.value
    return name in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "arg", None))


def _cut_leaves(machine: Machine, before: int | None = None) -> dict[int, Cutting]:
    """The leaves behind values that lost their graph, each with the first such place, or the last before a moment."""
    found: dict[int, Cutting] = {}
    cuts = [one for one in reversed(machine.account.cut) if before is not None and one[0].where.moment < before]
    for cut, node, leaf, _ in cuts if before is not None else machine.account.cut:
        under = [one.leaf for one in machine.graph.reach([node])] if node is not None else [leaf]
        for one in under:
            if one is not None:
                found.setdefault(id(one), cut)
    return found


def _is_cut_off(machine: Machine, leaf: Tensor, cuts: dict[int, Cutting], met: set[int]) -> bool:
    """Is it the cut that keeps a leaf from every loss? Not `no_grad`, if it was also used with gradients: then that was
    an evaluation, and where its history went is not known."""
    cut = cuts.get(id(leaf))
    if cut is None or (cut.how.startswith("torch.") and id(leaf) in machine.graph.used):
        return False
    of_itself = any(one is cut and own is leaf for one, _, own, _ in machine.account.cut)
    return not of_itself or id(cut) in met


def _cuts_in_losses(machine: Machine) -> set[int]:
    """The cuts that passes came to, by identity: not that of a value whose shape alone is asked (`weight.data`)."""
    nodes = machine.graph.reach(root for one in machine.passes for root, _ in one.roots)
    return {id(cut) for node in nodes for cut in node.given}


def _changed_by_hand(machine: Machine, leaf: Tensor) -> bool:
    """Does the program itself change a leaf while it trains? What is written before the first pass begins it."""
    trains = machine.passes[0].moment
    last = max((one.moment for one in leaf.version.writes), default=0)
    return max(last, machine.account.by_hand.get(id(leaf), 0)) > trains


def _reached_by_gradients(machine: Machine) -> set[int]:
    """Leaves under a gradient that was itself used: which of them such a pass reaches is not known."""
    found: set[int] = set()
    for one in machine.passes:
        made = range(*one.created) if len(one.created) == 2 else range(0)
        if any(number in made for later in machine.passes if later.moment > one.moment for number in later.used):
            found |= {id(n.leaf) for n in machine.graph.reach(root for root, _ in one.roots) if n.leaf is not None}
    return found


def _gradients(
    machine: Machine, numbers: Callable[[Iterable[Tensor]], frozenset[int]], unsure: set[int]
) -> Iterator[Entry]:
    """The gradient ledger, without the leaves that something unknown can reach."""
    doubtful = {
        number
        for number, step in enumerate(machine.steps)
        if machine.account.blind or any(id(leaf) in unsure for leaf in step.optimizer.inner.get("params", ()))
    }
    partial = _passes_not_followed(machine)
    for line in machine.account.ledger if not machine.account.mixed else ():
        leaves = numbers(line.leaves)
        if leaves and not (line.what == MISSING and line.step in doubtful):
            run = line.made.number if line.made is not None else -1
            yield Entry(line.what, leaves, run, line.step, dated_site(line.where))
            if line.what == PRODUCED and run in partial:
                yield Entry(UNSEEN, leaves)


def _taken(machine: Machine, unsure: set[int], owners: dict[int, list[str]]) -> dict[int, Where]:
    """The statements that take the leaves of the last backward for something that no optimizer holds."""
    for made in reversed(machine.passes):
        if made.call == "backward" and any(id(leaf) not in owners and id(leaf) not in unsure for leaf in made.leaves):
            nodes = list(reversed(machine.graph.reach(node for node, _ in made.roots)))
            between = _applied_to(nodes, owners)
            takers = (
                (id(one.leaf), node.where) for node in reversed(nodes) for one, _ in node.next_functions if one.leaf
            )
            return {leaf: where for leaf, where in takers if where is not None and leaf not in between}
    return {}


def _applied_to(nodes: list[GraphNode], owners: dict[int, list[str]]) -> set[int]:
    """The leaves, by identity, that the graph applies to what depends on one of an optimizer's, as a network's weights
    are applied to its input: in a value of their own they depend on nothing else (`weight.t()`)."""
    leaves: dict[int, set[int]] = {}
    found: set[int] = set()
    for node in nodes:  # oldest first
        below = [
            {id(one.leaf)} if one.leaf is not None else leaves.get(one.number, set()) for one, _ in node.next_functions
        ]
        leaves[node.number] = set().union(*below)
        if not leaves[node.number].isdisjoint(owners):
            found.update(*(some for some in below if len(some) == 1 and some.isdisjoint(owners)))
    return found


def _passes_not_followed(machine: Machine) -> set[int]:
    """The passes before a step of an optimizer none of whose parameters they reach, as far as was followed, through a
    graph that may lead further: what else their gradients are for is not known."""
    found = set()
    touched = machine.account.touched.keys()
    for step in machine.steps:
        before = [one for one in machine.passes if one.call == "backward" and one.moment < step.moment]
        held = {id(leaf) for leaf in step.optimizer.inner.get("params", ())} - touched
        if before and before[-1].open and not any(id(leaf) in held for leaf in before[-1].leaves):
            found.add(before[-1].number)
    return found
