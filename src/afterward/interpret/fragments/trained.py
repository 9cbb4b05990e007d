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
    named = [one for one in networks if path == one.inner.get(TRAINER) or _belong(path, one.inner[ASSUMED])]
    if named:
        return [one.attributes["weight"] for one in named]
    if not stepping:
        return []
    claimed = {id(leaf) for one in others for leaf in one.inner.get("params", ())}
    claimed |= {
        id(network.attributes["weight"])
        for network in networks
        for one in others
        if ASSUMED in one.inner and _belong(one.inner[ASSUMED], network.inner[ASSUMED])
    }
    reached = machine.passes[-1].leaves if machine.passes else []
    return [leaf for leaf in reached if leaf.is_parameter and id(leaf) not in claimed]


def _shown(machine: Machine) -> list[Tensor]:
    """The parameters of networks that the file does show: the only optimizer there is trains them too."""
    return [leaf for leaf in machine.graph.leaves if leaf.is_parameter and id(leaf) in machine.graph.used]


def _belong(optimizer: str, network: str) -> bool:
    """`optimizer_D` and `discriminator`, `self.actor.optimizer` and `self.actor`, `encoder_opt` and `encoder`."""
    if optimizer.rpartition(".")[0] == network:
        return True
    words = [word for word in tokens(optimizer) if not word.startswith(vocabulary.OPTIMIZER)]
    theirs = tokens(network)
    return any(word in theirs or (len(word) <= 3 and any(other.startswith(word) for other in theirs)) for word in words)
