"""`torch.distributions`: what a sample, a log probability or an entropy depends on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.torch import ops, transforms
from afterward.interpret.machine.values import Args, Class, Instance, Kwargs, Lib, Unknown, Value
from afterward.model.life.parts import Saved

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def make(machine: Machine, path: str, args: Args, kwargs: Kwargs) -> Value:
    if path.endswith("kl_divergence"):
        both = [one for side in args for one in (inputs_of(machine, side) if isinstance(side, Instance) else [side])]
        return ops.generic(machine, "KlBackward", both, "all")
    made = Instance(Lib(path))
    if path.endswith(".TransformedDistribution") or transforms.is_transform(made):
        transforms.construct(made, args, kwargs)
        return made
    values = [value for value in (*args, *kwargs.values()) if isinstance(value, (Tensor, Unknown, Instance))]
    made.inner["values"] = values
    name = path.rsplit(".", 1)[-1]
    given = dict(zip(PARAMETERS.get(name, "probs logits").split(), args, strict=False)) | kwargs
    for key, value in given.items():
        made.attributes[key] = value
    if name in ("Categorical", "OneHotCategorical") and isinstance(given.get("logits"), Tensor):
        made.attributes["logits"] = ops.generic(machine, "SubBackward0", [given["logits"]], "own")
        made.inner["values"] = [made.attributes["logits"]]
    elif name in ("Categorical", "OneHotCategorical") and isinstance(given.get("probs"), Tensor):
        made.attributes["probs"] = ops.generic(machine, "DivBackward0", [given["probs"]], "all")
        made.inner["values"] = [made.attributes["probs"]]
    if name == "Independent" and args:
        made.inner["values"] = args[:1]
    return made


PARAMETERS = {
    "Normal": "loc scale", "LogNormal": "loc scale", "Laplace": "loc scale", "Cauchy": "loc scale",
    "Gumbel": "loc scale", "HalfNormal": "scale", "HalfCauchy": "scale", "Uniform": "low high",
    "Beta": "concentration1 concentration0", "Gamma": "concentration rate", "Exponential": "rate", "Poisson": "rate",
    "Dirichlet": "concentration", "StudentT": "df loc scale", "VonMises": "loc concentration",
    "Weibull": "scale concentration", "Pareto": "scale alpha", "Binomial": "total_count probs logits",
    "Independent": "base_dist reinterpreted_batch_ndims", "Bernoulli": "probs logits",
    "MultivariateNormal": "loc covariance_matrix precision_matrix scale_tril",
}  # fmt: skip


def inputs_of(machine: Machine, owner: Instance, *, drawn: bool = False) -> list[Value]:
    """The tensors a distribution's results depend on. For all but a draw, `probs` is turned into `logits` once, and
    kept."""
    name = owner.class_name
    if name in ("Bernoulli", "Categorical", "OneHotCategorical", "Binomial", "RelaxedBernoulli"):
        if drawn and "logits" not in owner.attributes:
            return [owner.attributes.get("probs")]
        if "logits" not in owner.attributes and isinstance(owner.attributes.get("probs"), Tensor):
            made = ops.generic(machine, "LogBackward0", [owner.attributes["probs"]], "own")
            owner.attributes["logits"] = made
            machine.name(made, f"{owner.label or name}.logits", "attribute")
        return [owner.attributes.get("logits")]
    found: list[Value] = []
    for value in owner.inner.get("values", ()):
        found += inputs_of(machine, value, drawn=drawn) if isinstance(value, Instance) else [value]
    return found


def method(machine: Machine, owner: Instance, name: str, args: Args) -> Value:
    if transforms.is_transform(owner):
        return transforms.method(machine, owner, name, args)
    if "base" in owner.inner:
        return _transformed(machine, owner, name, args)
    if isinstance(owner.cls, Class):
        return machine.unknown()
    if name in ("sample", "sample_n"):
        return ops.data(machine, inputs_of(machine, owner, drawn=True), ".sample()", machine.frame.statement)
    if name == "rsample":
        return ops.generic(machine, "AddBackward0", inputs_of(machine, owner), "own")
    if name in ("log_prob", "entropy", "cdf", "icdf", "cross_entropy"):
        inputs = [*inputs_of(machine, owner), *[one for one in args if isinstance(one, (Tensor, Unknown))]]
        if name == "entropy" and owner.class_name in ("Normal",):
            inputs = inputs[1:] or inputs
        made = ops.generic(machine, f"{name.title().replace('_', '')}Backward", inputs, "own")
        if isinstance(made, Tensor) and made.node is not None:
            made.node.saved += tuple(Saved(one) for one in _saved(owner, name, args))
        return made
    return machine.unknown()


def _saved(owner: Instance, name: str, args: Args) -> Iterator[Tensor]:
    """The tensors of the program that a result saves; what it computes on the way is its own."""
    if owner.class_name == "Independent":
        for base in owner.inner["values"]:
            yield from _saved(base, name, args) if isinstance(base, Instance) else ()
        return
    given = {**owner.attributes, "value": args[0] if args else None}
    for word in _SAVED.get((owner.class_name, name), "").split():
        value = given.get(word.rstrip("?"))
        if isinstance(value, Tensor) and (value.requires_grad or not word.endswith("?")):
            yield value


# Seen in torch, by writing to each after the fact; `?`: only where it needs a gradient itself.
_SAVED = {
    ("Normal", "log_prob"): "scale?", ("LogNormal", "log_prob"): "scale? value?", ("Laplace", "log_prob"): "scale",
    ("Cauchy", "log_prob"): "scale", ("Gumbel", "log_prob"): "scale", ("Bernoulli", "log_prob"): "logits value",
    ("Categorical", "log_prob"): "logits? value", ("OneHotCategorical", "log_prob"): "logits?",
    ("Gamma", "log_prob"): "concentration rate value", ("Exponential", "log_prob"): "rate value",
    ("Dirichlet", "log_prob"): "concentration? value", ("StudentT", "log_prob"): "df",
    ("Poisson", "log_prob"): "rate value", ("HalfNormal", "log_prob"): "scale?",
    ("Binomial", "log_prob"): "logits value",
    ("HalfCauchy", "log_prob"): "scale", ("VonMises", "log_prob"): "concentration", ("Weibull", "log_prob"): "scale",
    ("Pareto", "log_prob"): "scale alpha", ("Normal", "entropy"): "scale?", ("LogNormal", "entropy"): "scale?",
    ("Cauchy", "entropy"): "scale?", ("Gumbel", "entropy"): "scale?", ("Bernoulli", "entropy"): "logits?",
    ("Categorical", "entropy"): "logits?", ("OneHotCategorical", "entropy"): "logits?",
    ("Gamma", "entropy"): "concentration? rate?", ("Exponential", "entropy"): "rate?",
    ("Dirichlet", "entropy"): "concentration?", ("StudentT", "entropy"): "df?", ("HalfNormal", "entropy"): "scale?",
    ("HalfCauchy", "entropy"): "scale?", ("Geometric", "entropy"): "logits?", ("Binomial", "entropy"): "logits?",
}  # fmt: skip


def _transformed(machine: Machine, owner: Instance, name: str, args: Args) -> Value:
    base = owner.inner["base"]
    if not isinstance(base, Instance):
        machine.account.lose([base, *owner.inner["chain"], *args])
        return machine.unknown()
    if name in ("rsample", "sample"):
        drawn = method(machine, base, name, args)
        with machine.graph.own_mode():
            if name == "sample":
                machine.graph.records, machine.graph.off = False, machine.cutting(".sample()", machine.frame.statement)
            return transforms.draw(machine, owner, drawn)
    if name == "log_prob" and args:
        volumes, value = transforms.densities(machine, owner, args[0])
        return ops.generic(machine, "SubBackward0", [*volumes, method(machine, base, name, [value])], "")
    machine.account.lose([base, *owner.inner["chain"]])
    return machine.unknown()
