"""Records operations on tensors: which node comes to be, what it saves, whose memory the result shares.

What an operation saves is read from the table of `afterward.model.life`, which was read from torch itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph.graph import GraphNode, Kept, Tensor
from afterward.interpret.history import refused
from afterward.interpret.machine.values import SliceOf, Unknown, Value
from afterward.model.life.table import OWN, table

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

# What a function or method of torch is called in the table, where the names differ.
ON_PROCESSOR = "#processor"  # among the attributes of a tensor that was made without naming a device

ALIASES = {
    "multiply": "mul", "divide": "div", "true_divide": "div", "subtract": "sub", "negative": "neg", "matmul": "mm",
    "binary_cross_entropy_with_logits": "bce_with_logits", "scaled_dot_product_attention": "attention",
    "absolute": "abs", "permute": "permute", "clip": "clamp", "linalg_norm": "norm", "swapdims": "swapaxes",
    "adaptive_avg_pool1d": "adaptive_avg_pool2d", "adaptive_avg_pool3d": "adaptive_avg_pool2d",
    "adaptive_max_pool1d": "adaptive_max_pool2d", "avg_pool3d": "avg_pool2d", "hardtanh_": "hardtanh",
    "conv_transpose1d": "conv_transpose2d", "conv_transpose3d": "conv_transpose2d", "dropout3d": "dropout2d",
    "dropout1d": "dropout2d", "feature_alpha_dropout": "dropout", "mean_dim": "mean", "upsample": "interpolate",
    "nll_loss2d": "nll_loss", "log_sigmoid": "logsigmoid", "arccos": "acos", "arcsin": "asin", "arctan": "atan",
    "arctan2": "atan2", "cholesky_ex": "cholesky", "bernoulli_p": "bernoulli_free_mask", "moveaxis": "movedim",
    "unfold_tensor": "unfold", "inv": "inverse", "dist": "norm", "diag": "diagonal", "ravel": "flatten",
    "multilabel_soft_margin_loss": "soft_margin_loss", "multilabel_margin_loss": "multi_margin_loss",
    "fliplr": "flip", "flipud": "flip", "expand_dims": "unsqueeze", "concat": "cat", "concatenate": "cat",
    "squeeze": "squeeze_row", "relu6_": "relu6", "rnn_relu_cell": "rnn_tanh_cell", "special_expit": "sigmoid",
    "triplet_margin_with_distance_loss": "triplet_margin_loss", "embedding": "embedding", "erf_": "erf",
    "dsplit": "split", "hsplit": "split", "vsplit": "split", "std_mean": "std_mean", "cross_entropy": "cross_entropy",
}  # fmt: skip


@lru_cache(maxsize=4096)
def plan(op: str, bits: tuple[bool, ...]) -> tuple[str, tuple[tuple[str, int], ...]]:
    """The last node an operation builds when these arguments need gradients, and all that its nodes save."""
    entry = table()[op]
    pattern = entry.patterns.get(bits)
    if pattern is None:
        wider = [key for key in entry.patterns if all(have or not want for have, want in zip(key, bits, strict=False))]
        pattern = entry.patterns[min(wider, key=sum)] if wider else next(iter(entry.patterns.values()))
    saves: list[tuple[str, int]] = []
    for node in pattern.nodes:
        saves += [("saved", whose) for whose in node.saves]
    name = pattern.nodes[-1].name if pattern.nodes else f"{op}Backward"
    return name, tuple(dict.fromkeys(saves))


def known(op: str) -> bool:
    return op in table().raw


def resolve(name: str) -> str | None:
    """The table's name for an operation, if it has it."""
    found = ALIASES.get(name, name)
    return found if known(found) else None


def apply(machine: Machine, op: str, inputs: list[Value], extra: Iterable[Tensor] = ()) -> Value:
    """Run an operation of the table, out of place."""
    entry = table()[op]
    arity = len(entry.shapes)
    inputs = inputs[:arity] + [0.0] * (arity - len(inputs))
    others = [tensor for tensor in extra if isinstance(tensor, Tensor)]
    made = without_history(machine, [*inputs, *others] if others else inputs)
    count = len(entry.outs)
    if made is not None:
        results = [made] + [_like(made) for _ in range(count - 1)]
        for number, result in enumerate(results):
            if isinstance(result, Tensor):
                _share(result, entry.views[number], inputs)
        return results[0] if count == 1 else tuple(results)
    bits = tuple(isinstance(value, Tensor) and value.requires_grad for value in inputs)
    name, saves = plan(op, bits)
    node = machine.graph.record(name, [v for v in (*inputs, *others) if isinstance(v, Tensor)], ())
    results = []
    for slot in range(count):
        if entry.outs[slot].startswith("-"):  # indices: data
            results.append(Tensor())
            continue
        result = Tensor()
        result.node, result.slot = node, slot
        _share(result, entry.views[slot], inputs)
        results.append(result)
    for label, whose in saves:
        if whose >= OWN:  # a value, or a plain number, in the node's own keeping
            node.saved.append(Kept(label))
        elif whose < 0:
            value = inputs[-1 - whose]
            node.saved.append(Kept(label, value.version if isinstance(value, Tensor) else None))
        elif whose < len(results):
            node.saved.append(Kept(label, results[whose].version))
    return results[0] if count == 1 else tuple(results)


def _share(result: Tensor, view: int | None, inputs: list[Value]) -> None:
    if view is not None and view >= 0 and isinstance(inputs[view], Tensor):
        source: Tensor = inputs[view]
        result.version = source.version
        result.base = source.base or source
        result.seen = source.version.count


def _like(made: Value) -> Value:
    if isinstance(made, Unknown):
        return Unknown(None, made.cut)
    other = Tensor()
    other.cut = made.cut
    return other


def without_history(machine: Machine, inputs: Iterable[Value]) -> Value | None:
    """The result where nothing is recorded: data, or unknown where an input is. None: it is recorded."""
    needing: list[Tensor] = []
    unknown = False
    cut: Any = None
    for value in inputs:
        if isinstance(value, Tensor):
            if value.needs or value.requires_grad:
                needing.append(value)
            if cut is None:
                cut = value.cut or value.switched
        elif isinstance(value, Unknown):
            unknown = unknown or not value.plain
            if cut is None and value.plain:
                cut = value.cut
    graph = machine.graph
    if graph.records:
        if needing:
            graph.open_input = unknown
            return None
        if unknown:
            return machine.unknown()
    made = Tensor()
    if needing:
        made.cut = machine.cut_in_mode()
        machine.account.cuts(made.cut, needing, machine.here)
    else:
        made.cut = cut if cut is not None or not unknown else graph.off
    return made


def generic(
    machine: Machine, op: str, inputs: list[Value], saves: str = "all", outs: int = 1, view: bool = False
) -> Value:
    """Record an operation that the table does not have; what it saves is said here: "all", "others" (a product keeps
    each factor for the gradients of the others), "own" or ""."""
    made = without_history(machine, inputs)
    if made is not None:
        results = [made] + [_like(made) for _ in range(outs - 1)]
    else:
        node = machine.graph.record(op, [value for value in inputs if isinstance(value, Tensor)], ())
        if saves == "all":
            node.saved += [Kept("saved", value.version) for value in inputs if isinstance(value, Tensor)]
        elif saves == "others":
            factors = [value for value in inputs if isinstance(value, Tensor)]
            needing = {position for position, value in enumerate(factors) if value.requires_grad}
            node.saved += [Kept("saved", one.version) for at, one in enumerate(factors) if needing - {at}]
        elif saves == "own":
            node.saved.append(Kept("saved"))
        results = [_result(node, slot) for slot in range(outs)]
    if view and isinstance(inputs[0], Tensor):
        for result in results:
            if isinstance(result, Tensor):
                _share(result, 0, inputs)
    return results[0] if outs == 1 else tuple(results)


def moved(machine: Machine, value: Value) -> Value:
    """A leaf that was made in the processor's memory, and is copied to the GPU's: the copy is computed."""
    if isinstance(value, Tensor) and value.needs and value.node is None and value.attributes.get(ON_PROCESSOR):
        return generic(machine, "ToCopyBackward0", [value], "")
    return value


def _result(node: GraphNode, slot: int) -> Tensor:
    made = Tensor()
    made.node, made.slot = node, slot
    return made


def data(machine: Machine, inputs: Iterable[Value], how: str, node: ast.AST | None) -> Tensor:
    """A result that never has a history: a cut, if an input had one."""
    made = Tensor()
    for value in inputs:
        cut = cut_of(machine, value, how, node)
        if cut is not None:
            made.cut = cut
            break
    return made


def cut_of(machine: Machine, value: Value, how: str, node: ast.AST | None) -> Any:
    """The cut that taking a value out of its history makes, or the one it already went through."""
    if isinstance(value, Tensor):
        if value.requires_grad:
            cut = machine.cutting(how, node)
            machine.account.cuts(cut, [value], machine.here)
            return cut
        return value.cut
    if isinstance(value, Unknown):
        return value.cut
    if isinstance(value, (list, tuple)):
        for one in value:
            found = cut_of(machine, one, how, node)
            if found is not None:
                return found
    return None


def write(machine: Machine, target: Tensor, others: list[Value], op: str, node: ast.AST | None, label: str) -> Tensor:
    """An in-place operation: the memory changes, and with recording on so does the history."""
    graph = machine.graph
    sources = [value for value in others if isinstance(value, Tensor)]
    records = graph.records and (target.requires_grad or any(source.requires_grad for source in sources))
    base = target.base if target.base is not None else target
    machine.account.written(base, machine.here())
    if base.needs and base.node is None:
        machine.account.by_hand.add(id(base))
        machine.account.changed_by_hand(base)
    if records and base.needs and base.node is None and not isinstance(base, Unknown):
        refused.leaf_written(machine, base, label, view=target is not base)
    made: GraphNode | None = None
    if records:
        graph.open_input = any(isinstance(value, Unknown) and not value.plain for value in others)
        plain = op.removesuffix("_")
        in_table = known(op) and len(table()[op].shapes) <= 1 + len(others)
        if in_table:
            arity = len(table()[op].shapes)
            inputs = [target, *others][:arity]
            bits = tuple(isinstance(value, Tensor) and value.requires_grad for value in inputs)
            name, saves = plan(op, bits)
            made = graph.record(name, [target, *sources], ())
            for _, whose in saves:
                value = inputs[-1 - whose] if whose < 0 else None
                if whose < 0 or whose >= OWN:
                    made.saved.append(Kept("saved", value.version if isinstance(value, Tensor) else None))
            saves_result = any(0 <= whose < OWN for _, whose in saves)
        else:
            made = graph.record(f"{plain.capitalize()}Backward0", [target, *sources], ())
            saves_result = False
        graph.written(target, label)
        if saves_result:
            made.saved.append(Kept("result", target.version))
    else:
        graph.written(target, label)
    if made is not None:
        _rebase(machine, target, made)
    target.seen = target.version.count
    return target


def _rebase(machine: Machine, target: Tensor, made: GraphNode) -> None:
    """After a recorded write the node is the target's history, and through a view that of its base."""
    base = target.base
    if base is not None:
        around = machine.graph.new_node("CopySlices")
        edge = machine.graph.edge(base) if base is not target else None
        if edge is not None:
            around.edges.append(edge)
        around.edges += [pair for pair in made.edges if pair[0] is not (edge or (None,))[0]]
        around.saved = [Kept("slices"), *made.saved]
        base.node, base.slot, base.seen = around, 0, base.version.count
        target.node, target.slot = around, 0
    else:
        target.node, target.slot = made, 0


def elements(machine: Machine, tensor: Tensor) -> Iterator[Value]:
    """The rows of a tensor, as a loop over it gets them: views, all of one node."""
    node: GraphNode | None = None
    number = 0
    while True:
        if tensor.requires_grad and machine.graph.records:
            if node is None:
                node = machine.graph.record("UnbindBackward0", [tensor], ())
            row = _result(node, number)
        else:
            row = Tensor()
            row.cut = tensor.cut if not tensor.requires_grad else machine.graph.off
        _share(row, 0, [tensor])
        if len(tensor.attributes.get("shape", ())) > 1:
            row.attributes["shape"] = tensor.attributes["shape"][1:]
        number += 1
        yield row


def item(machine: Machine, owner: Tensor, key: Value, node: ast.AST | None) -> Value:
    """`tensor[key]`: a view for numbers and slices, a copy that saves the index for index tensors."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, (Tensor, list)) for part in parts):
        extra = [part for part in parts if isinstance(part, Tensor) and part.requires_grad]
        return apply(machine, "index", [owner], extra)
    if any(isinstance(part, Unknown) for part in parts):
        return generic(machine, "SelectBackward0", [owner], "", view=True)
    op = "slice" if any(isinstance(part, (slice, SliceOf)) for part in parts) else "select"
    return generic(machine, "SliceBackward0" if op == "slice" else "SelectBackward0", [owner], "", view=True)


def write_item(machine: Machine, owner: Tensor, key: Value, value: Value, node: ast.AST) -> None:
    """`tensor[key] = value`."""
    label = ast.unparse(node.value) if isinstance(node, ast.Subscript) else "the tensor"
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, (Tensor, list)) for part in parts):
        write(machine, owner, [value], "index_put_", node, label)
        return
    target = owner
    if machine.graph.records and (owner.requires_grad or (isinstance(value, Tensor) and value.requires_grad)):
        view = Tensor(owner.version)
        view.base = owner.base or owner
        edge = machine.graph.edge(owner)
        if edge is not None and edge[0].leaf is None:
            view.node, view.slot = edge
        view.seen = owner.version.count
        target = view
        if owner.needs and owner.node is None:
            refused.leaf_written(machine, owner, label, view=True)
    write(machine, target, [value], "copy_", node, label)
    if target is not owner and owner.base is not None:
        owner.node, owner.slot, owner.seen = target.node, target.slot, owner.version.count
