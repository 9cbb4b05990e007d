"""Read from torch what one operation builds: its nodes, their edges, what each saves and whose it is.

Nothing here knows any operation. The nodes are found by walking `next_functions`; whether a saved value
is an argument, a result or the operation's own is found by counting up one tensor's version and looking
whether reading the saved value now raises the in-place error.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import torch
import torch.nn.functional as F

from lifelab.operations import SHAPES, Operation

Record = dict[str, Any]


def values(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Numbers in (0.2, 0.8), the same ones for the same seed: the domain of nearly every function."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(20, 80, shape, generator=generator) / 100


def argument(letter: str, seed: int) -> torch.Tensor:
    numbers = values(SHAPES[letter], seed)
    if letter == "P":  # symmetric, positive definite
        return numbers @ numbers.T + torch.eye(3)
    if letter == "T":  # log probabilities
        return numbers.log_softmax(-1)
    return numbers


def call(operation: Operation, arguments: list[torch.Tensor]) -> list[torch.Tensor]:
    source = operation.call.format(*(f"a[{i}]" for i in range(len(arguments))))
    result = eval(source, {"torch": torch, "F": F, "a": arguments})
    return list(flat(result))


def flat(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for part in result for tensor in flat(part)]


def measure(operation: Operation) -> Record:
    """The table's entry: the results, and for each pattern of arguments needing gradients the nodes."""
    count = len(operation.shapes)
    outs, views, same, multi = _results(operation)
    entry: Record = {"call": operation.call, "shapes": list(operation.shapes), "outs": outs}
    for key, value in (("views", views), ("same", same)):
        if any(v is not None for v in value):
            entry[key] = value
    if multi:
        entry["multi"] = True
    if operation.in_place:
        entry["in_place"] = True
    if operation.random:
        entry["random"] = True
    if not operation.in_programs:
        entry["apart"] = True
    if depends_on_layout(operation):
        entry["layout"] = True
    entry["patterns"] = {}
    for pattern in product((False, True), repeat=count):
        if any(pattern):
            key = "".join("1" if needs else "0" for needs in pattern)
            entry["patterns"][key] = measure_pattern(operation, pattern)
    return entry


def _results(operation: Operation) -> tuple[list[Any], list[Any], list[Any], bool]:
    """Shape of each result, whose view it is, which argument it simply is, and if views come in a set."""
    arguments, _ = _arguments(operation, tuple(True for _ in operation.shapes))
    results = call(operation, arguments)
    letters = {shape: letter for letter, shape in reversed(SHAPES.items())}
    outs = [letters.get(tuple(r.shape), "?") if r.dtype == torch.float32 else "-" for r in results]
    outs = [f"{letter}{r.numel()}" if letter in "?-" else letter for letter, r in zip(outs, results, strict=True)]
    views: list[Any] = []
    same: list[Any] = []
    for result in results:
        same.append(next((i for i, a in enumerate(arguments) if a is result), None))
        base = result._base if result._is_view() and same[-1] is None else None
        owner = next((i for i, a in enumerate(arguments) if a is base), -1)
        views.append(None if base is None else owner)
    multi = False
    if any(v is not None and v >= 0 for v in views):
        try:
            results[0].add_(1)
        except RuntimeError as error:
            multi = "returns multiple views" in str(error)
    return outs, views, same, multi


def depends_on_layout(operation: Operation) -> bool:
    """Whether other nodes come to be, or none, when the arguments lie differently in memory."""
    pattern = tuple(True for _ in operation.shapes)
    layouts = ["transposed"]
    if not operation.in_place:
        layouts.append("strided")
        if operation.in_programs:  # the others want numbers that an expanded tensor cannot have
            layouts.append("expanded")
    try:
        plain = measure_pattern(operation, pattern)
        return any(measure_pattern(operation, pattern, layout) != plain for layout in layouts)
    except RuntimeError:
        return True  # `view`, which refuses


def _laid_out(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """The same numbers, or some, in the middle of a graph and not contiguous."""
    if layout == "transposed" and tensor.dim() > 1:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2).requires_grad_().clone()
    if layout == "strided" and tensor.dim():
        return torch.stack([tensor, tensor], -1).requires_grad_().clone().select(-1, 0)
    if layout == "expanded" and tensor.dim():
        return tensor.reshape(-1)[0].requires_grad_().clone().expand(tensor.shape)
    return tensor.requires_grad_().clone()


def _arguments(
    operation: Operation, pattern: tuple[bool, ...], layout: str = ""
) -> tuple[list[torch.Tensor], list[Any]]:
    """Arguments in the middle of a graph where the pattern says so, and the nodes they come from."""
    arguments, sources = [], []
    for i, (letter, needs) in enumerate(zip(operation.shapes, pattern, strict=True)):
        tensor = argument(letter, i)
        if needs:
            tensor = _laid_out(tensor, layout)
        arguments.append(tensor)
        sources.append(tensor.grad_fn)
    return arguments, sources


def measure_pattern(operation: Operation, pattern: tuple[bool, ...], layout: str = "") -> Record:
    arguments, sources = _arguments(operation, pattern, layout)
    results = call(operation, arguments)
    nodes = new_nodes([r.grad_fn for r in results], sources)
    number = {id(node): i for i, node in enumerate(nodes)}
    origin = {id(node): i for i, node in enumerate(sources) if node is not None}

    def edge(target: Any, slot: int) -> Any:
        if target is None:
            return None
        if id(target) in origin:
            return [f"i{origin[id(target)]}", slot]
        return [number[id(target)], slot]

    # Read before any version moves: a view's node is made anew when its version is behind.
    ends = [None if r.grad_fn is None else edge(r.grad_fn, r.output_nr) for r in results]
    numbers = _numbers(operation, pattern)
    rows = []
    for node, saved in zip(nodes, _owners(operation, nodes, arguments, results), strict=True):
        saved = [[name, "number" if (len(rows), name) in numbers else who] for name, who in saved]
        rows.append([short(node), [edge(t, s) for t, s in node.next_functions], saved])
    return {"nodes": rows, "outs": ends}


def _numbers(operation: Operation, pattern: tuple[bool, ...]) -> set[tuple[int, str]]:
    """The saved values that are plain numbers: saved-tensor hooks never get to see those."""
    seen: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: seen.append(1) or t):
        arguments, sources = _arguments(operation, pattern)
        results = call(operation, arguments)
    found = set()
    for i, node in enumerate(new_nodes([r.grad_fn for r in results], sources)):
        for name in saved_names(node):
            before = len(seen)
            if isinstance(getattr(node, "_saved_" + name), torch.Tensor) and len(seen) == before:
                found.add((i, name))
    return found


def new_nodes(ends: list[Any], known: list[Any]) -> list[Any]:
    """The nodes between the ends and the known ones, oldest first."""
    seen = {id(node) for node in known if node is not None}
    found: list[Any] = []
    stack = [node for node in ends if node is not None]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            found.append(node)
            stack += [target for target, _ in node.next_functions if target is not None]
    return sorted(found, key=lambda node: node._sequence_nr())


def short(node: Any) -> str:
    return str(node.name()).rpartition("::")[2]


def saved_names(node: Any) -> list[str]:
    return [name[len("_raw_saved_") :] for name in dir(node) if name.startswith("_raw_saved_")]


def _owners(
    operation: Operation, nodes: list[Any], arguments: list[torch.Tensor], results: list[torch.Tensor]
) -> list[list[Any]]:
    """For each node its saved values as [name, owner]; the owner is i0.., o0.., or "own"."""
    saved: list[dict[str, str]] = []
    for node in nodes:
        held = {}
        for name in saved_names(node):
            value = getattr(node, "_saved_" + name)
            if value is not None:
                held[name] = "own"
        if short(node) == "CopySlices":
            held["fn"] = "own"
        saved.append(held)
    candidates = [(f"i{i}", a) for i, a in enumerate(arguments)]
    if operation.in_place:
        candidates = candidates[1:]
    candidates += [(f"o{i}", r) for i, r in enumerate(results)]
    for label, tensor in candidates:
        torch.autograd.graph.increment_version(tensor)
        for node, held in zip(nodes, saved, strict=True):
            for name, owner in held.items():
                if owner == "own" and name != "fn" and _overwritten(node, name):
                    held[name] = label
    return [[[name, owner] for name, owner in held.items()] for held in saved]


def _overwritten(node: Any, name: str) -> bool:
    try:
        getattr(node, "_saved_" + name)
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return False


def second_pass_fails(operation: Operation, pattern: tuple[bool, ...]) -> bool:
    """Whether two passes over the operation, both freeing, end in an error: the check on what is saved."""
    arguments, _ = _arguments(operation, pattern)
    roots = [r for r in call(operation, arguments) if r.requires_grad]
    grads = [torch.ones_like(r) for r in roots]
    torch.autograd.backward(roots, grads)
    try:
        torch.autograd.backward(roots, grads)
    except RuntimeError as error:
        if "second time" not in str(error):
            raise
        return True
    return False
