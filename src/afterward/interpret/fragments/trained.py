"""Which networks an optimizer trains that stands in for one: by their names, or by what the last pass reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from afterward.interpret.fragments import vocabulary
from afterward.interpret.fragments.meaning import Role, meanings_of, tokens, tree_of
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.torch import optim
from afterward.interpret.machine.values import Instance

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

ASSUMED = "assumed"  # what a stand-in is known by, in `inner`: the path it was made for
TRAINER = "trainer"  # the optimizer that a network is there for


def before_use(machine: Machine, optimizer: Instance, stepping: bool) -> None:
    """An optimizer that stands in takes up what it is there to train, as far as that can be told by now."""
    path = optimizer.inner.get(ASSUMED)
    if path is None:
        return
    mine = _trained_by(machine, optimizer, path, stepping)
    known = {id(leaf) for leaf in optimizer.inner["params"]}
    new = [leaf for leaf in mine if id(leaf) not in known]
    if new:
        optim.add_group(machine, optimizer, [{"params": new}], {})


def _trained_by(machine: Machine, optimizer: Instance, path: str, stepping: bool) -> list[Tensor]:
    networks = machine.assumed.networks
    others = [one for one in machine.optimizers if one is not optimizer]
    tree = tree_of(machine.frame)
    if not others and (tree is None or len(meanings_of(tree).paths(Role.OPTIMIZER)) < 2):
        mine = [one.attributes["weight"] for one in networks] + _shown(machine)
        alone = machine.assumed.lenient and tree is not None and len(meanings_of(tree).paths(Role.NETWORK)) == 1
        optimizer.inner["partial"] = not alone  # of several networks it may be there for some only
        return mine
    rivals = [str(one.inner[ASSUMED]) for one in others if ASSUMED in one.inner]
    rivals += meanings_of(tree).paths(Role.OPTIMIZER) if tree is not None else []
    named = [one for one in networks if path == one.inner.get(TRAINER) or _belong(path, one.inner[ASSUMED], rivals)]
    if named:
        return [one.attributes["weight"] for one in named]
    if not stepping:
        return []
    claimed = {id(leaf) for one in others for leaf in one.inner.get("params", ())}
    claimed |= {
        id(network.attributes["weight"])
        for network in networks
        for one in others
        if ASSUMED in one.inner and _fit(one.inner[ASSUMED], network.inner[ASSUMED])
    }
    reached = machine.passes[-1].leaves if machine.passes else []
    return [leaf for leaf in reached if leaf.is_parameter and id(leaf) not in claimed]


def _shown(machine: Machine) -> list[Tensor]:
    """The parameters of networks that the file does show: the only optimizer there is trains them too."""
    return [leaf for leaf in machine.graph.leaves if leaf.is_parameter and id(leaf) in machine.graph.used]


def _belong(optimizer: str, network: str, rivals: list[str]) -> bool:
    """Is an optimizer called after a network, and none of the others more so?"""
    fit = _fit(optimizer, network)
    return fit > 0 and fit >= max((_fit(one, network) for one in rivals), default=0)


def _fit(optimizer: str, network: str) -> int:
    """`optimizer_D` and `discriminator`, `self.actor.optimizer` and `self.actor`, `encoder_opt` and `encoder`: how well
    they go together. The last word of a name says most: a `global_discriminator` is a discriminator."""
    theirs = tokens(network)
    if optimizer.rpartition(".")[0] == network:
        return len(theirs) + 1
    words = [word for word in tokens(optimizer) if not word.startswith(vocabulary.OPTIMIZER)]
    alike = (
        n for n, one in enumerate(theirs, 1) if any(w == one or (len(w) <= 3 and one.startswith(w)) for w in words)
    )
    return max(alike, default=0)
