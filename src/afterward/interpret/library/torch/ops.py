"""Records operations on tensors: which node comes to be, what it saves, whose memory the result shares.

What an operation saves is read from the table of `afterward.model.life`, which was read from torch itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph.graph import GraphNode, Tensor
from afterward.interpret.history import refused
from afterward.interpret.machine.values import SliceOf, Unknown, Value
from afterward.model.life import recording
from afterward.model.life.faults import Refused
from afterward.model.life.table import Operation, Saves, table, unlisted, with_more

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

# Among the attributes of a tensor:
ON_PROCESSOR = "#processor"  # it was made without naming a device
LENGTHS = "#lengths"  # those of its dimensions that the view asks for which it is

# What a function or method of torch is called in the table, where the names differ.
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
    "dsplit": "tensor_split", "hsplit": "tensor_split", "vsplit": "tensor_split",
    "std_mean": "std_mean", "cross_entropy": "cross_entropy",
    "spmm": "mm", "smm": "mm", "dsmm": "mm", "arccosh": "acosh", "arcsinh": "asinh", "arctanh": "atanh", "ger": "outer",
    "frobenius_norm": "norm", "broadcast_to": "expand",
}  # fmt: skip


def length(value: Value, dimension: int) -> int | None:
    """How long a tensor is in a dimension, where the program says so."""
    if not isinstance(value, Tensor):
        return None
    shape = value.attributes.get("shape", ())
    found = shape[dimension] if dimension < len(shape) else value.attributes.get(LENGTHS, {}).get(dimension)
    return found if isinstance(found, int) else None


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
    if others:
        entry, inputs = with_more(op, len(others)), [*inputs, *others]
    return _run(machine, entry, inputs)


def _run(machine: Machine, operation: Operation, inputs: list[Value]) -> Value:
    """Run an operation on the model. What is no tensor adds no edge, and what is not known makes the result unknown."""
    unrecorded = without_history(machine, inputs)
    count = len(operation.outs)
    if isinstance(unrecorded, Unknown):
        return unrecorded if count == 1 else (unrecorded, *(Unknown(None, unrecorded.cut) for _ in range(count - 1)))
    tensors = [value if isinstance(value, Tensor) else Tensor() for value in inputs]
    results: tuple[Tensor, ...] = recording.apply(machine.graph, operation, tensors)  # type: ignore[assignment]
    if unrecorded is not None:
        for result in results:
            result.cut = unrecorded.cut
    else:
        _note_cuts(results, tensors)
    return results[0] if count == 1 else results


def _note_cuts(results: Iterable[Tensor], inputs: list[Tensor]) -> None:
    """A node is told where those of its inputs that have no history lost it."""
    given = [one.cut for one in inputs if one.cut is not None and not one.requires_grad]
    for result in results if given else ():
        if result.node is not None:
            result.node.given = given


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
    machine: Machine, op: str, inputs: list[Value], saves: Saves = "all", outs: int = 1, view: bool = False
) -> Value:
    """Record an operation that the table does not have; for what it saves see `unlisted`."""
    if not isinstance(saves, tuple):
        inputs = [value for value in inputs if isinstance(value, (Tensor, Unknown))] or inputs[:1]
    return _run(machine, unlisted(op, len(inputs), saves, outs, view and isinstance(inputs[0], Tensor)), inputs)


def moved(machine: Machine, value: Value) -> Value:
    """A leaf that was made in the processor's memory, and is copied to the GPU's: the copy is computed."""
    if isinstance(value, Tensor) and value.needs and value.node is None and value.attributes.get(ON_PROCESSOR):
        return generic(machine, "ToCopyBackward0", [value], "")
    return value


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
    base: Tensor = target.base if target.base is not None else target  # type: ignore[assignment]
    machine.account.written(base, machine.here())
    if base.needs and base.node is None:
        machine.account.by_hand[id(base)] = machine.graph.clock
        machine.account.changed_by_hand(base)
    inputs = [value if isinstance(value, Tensor) else Tensor() for value in others]
    entry = table()[op] if known(op) else None
    if entry is None or len(entry.shapes) > 1 + len(inputs):
        inputs = [value for value in others if isinstance(value, Tensor)]
        entry = unlisted(f"{op.removesuffix('_').capitalize()}Backward0", 1 + len(inputs))
    graph.open_input = any(isinstance(value, Unknown) and not value.plain for value in others)
    try:
        recording.write(graph, entry, target, inputs[: len(entry.shapes) - 1])
    except Refused as refusal:
        refused.write_refused(machine, refusal.fault, target, label)
        raise
    finally:
        graph.open_input = False
    graph.written(target, label)
    return target


def elements(machine: Machine, tensor: Tensor, op: str = "unbind") -> Iterator[Value]:
    """The rows of a tensor, as a loop over it gets them: views, all of one node."""
    node: GraphNode | None = None
    number = 0
    while True:
        row: Tensor = recording.view_of(machine.graph, tensor, table()[op], number)  # type: ignore[assignment]
        if tensor.requires_grad and machine.graph.records:
            if node is None:
                node = generic(machine, "UnbindBackward0", [tensor], "").node
            row.node, row.slot = node, number
        else:
            row.cut = tensor.cut if not tensor.requires_grad else machine.graph.off
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
        target = recording.view_of(machine.graph, owner, unlisted("SelectBackward0", 1), 0)  # type: ignore[assignment]
        edge = machine.graph.edge(owner)
        if edge is not None and edge[0].leaf is None:
            target.node, target.slot = edge
    write(machine, target, [value], "copy_", node, label)
