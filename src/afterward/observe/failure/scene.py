"""Where an error of autograd was raised, and which tensor its message is about: best first, by expression."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FrameType, FunctionType, MethodType
from typing import Any

from afterward.observe import compat
from afterward.observe.failure.copying import way_of_copy
from afterward.observe.failure.graph import graph_behind
from afterward.observe.looking import entries, is_a, space_of
from afterward.observe.marks.stack import locals_of
from afterward.observe.plainly import plainly
from afterward.observe.provenance.frame_values import value_of
from afterward.observe.provenance.naming import MODULE_INTERNALS


@dataclass
class Scene:
    """Where it was raised: the program's frames, innermost first, and those of libraries below, innermost first."""

    frames: list[FrameType]
    line: int
    below: list[FrameType]
    said: str
    statement: ast.stmt | None = None

    def tensors(self) -> Iterator[tuple[str, Any]]:
        """The tensors that the statement names, each as it is written there."""
        for node in ast.walk(self.statement) if self.statement is not None else ():
            if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
                value = value_of(node, self.frames[0])
                if compat.is_tensor(value):
                    yield ast.unparse(node), value
                elif type(value) in (list, tuple):
                    yield from ((f"{ast.unparse(node)}[{n}]", v) for n, v in enumerate(value) if compat.is_tensor(v))

    def written_as(self, value: Any) -> str:
        """How the statement writes a value."""
        for node in ast.walk(self.statement) if self.statement is not None else ():
            if isinstance(node, (ast.Name, ast.Attribute)) and value_of(node, self.frames[0]) is value:
                return ast.unparse(node)
        return ""

    def owners_of(self, method: str) -> Iterator[str]:
        """What the statement calls this method of, as it is written there."""
        for node in ast.walk(self.statement) if self.statement is not None else ():
            if isinstance(node, ast.Attribute) and node.attr == method:
                yield ast.unparse(node.value)

    def functions(self, names: Iterable[str]) -> Iterator[Any]:
        """The functions that the program's frames know by these names, the innermost first."""
        for name in names:
            found = (value_of(ast.Name(name), frame) for frame in self.frames)
            yield from (one for one in found if isinstance(one, (FunctionType, MethodType)))

    def local(self, *names: str) -> Iterator[Any]:
        """What library frames call by one of these names, the innermost first."""
        for frame in self.below:
            known = locals_of(frame)
            for name in names:
                if name in known:
                    value = known[name]
                    yield from value if type(value) in (list, tuple) else [value]


def scene_of(error: BaseException, is_user: Any) -> Scene | None:
    frames: list[FrameType] = []
    below: list[FrameType] = []
    line = 0
    traceback = error.__traceback__
    while traceback is not None:
        if is_user(traceback.tb_frame.f_code.co_filename):
            frames.append(traceback.tb_frame)
            line, below = traceback.tb_lineno, []
        else:
            below.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return Scene(frames[::-1], line, below[::-1], str(error)) if frames else None


# Which tensor a message is about: (its expression, the tensor), best first

Found = Iterable[tuple[str, Any]]
Test = Callable[[Any], bool]


def named(scene: Scene, test: Test) -> Found:
    return ((text, tensor) for text, tensor in scene.tensors() if test(tensor))


def _in_locals(scene: Scene, test: Test, *names: str) -> Found:
    return (("", one) for one in scene.local(*names) if compat.is_tensor(one) and test(one))


def _written(scene: Scene) -> Found:
    """What the statement writes into: the target of `+=`, of an item, or of a method such as `add_`."""
    target: ast.expr | None = None
    statement = scene.statement
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], ast.Name):
        target = statement.targets[0]
    for call in ast.walk(statement) if target is None and statement is not None else ():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_"):
            target = call.func.value
    while target is not None:
        value = value_of(target, scene.frames[0])
        if compat.is_tensor(value):
            yield ast.unparse(target), value
        target = target.value if isinstance(target, (ast.Subscript, ast.Attribute)) else None


def _owners(scene: Scene, *attributes: str) -> Found:
    """The tensors whose attribute of this name the statement reads or sets."""
    for node in ast.walk(scene.statement) if scene.statement is not None else ():
        if isinstance(node, ast.Attribute) and node.attr in attributes:
            value = value_of(node.value, scene.frames[0])
            if compat.is_tensor(value):
                yield ast.unparse(node.value), value


def _computed_without_gradient(scene: Scene) -> Found:
    """The owner of a `.grad` that is None because it is no leaf."""
    return (found for found in _owners(scene, "grad") if _computed(found[1]))


def _leaf_without_gradient(scene: Scene) -> Found:
    """The owner of a `.grad` that is None though it is a leaf. No text: the name of a parameter says more than that of
    a loop's variable."""
    leaves = (one for _, one in _owners(scene, "grad") if one.is_leaf)
    return (("", one) for one in leaves if plainly(one).grad is None)


def _copied(scene: Scene) -> Found:
    """What a deep copy came to, by the way that it took."""
    met = [one for one in scene.local("self") if compat.is_tensor(one) and _computed(one)]
    return [(way_of_copy(scene.statement, scene.below[::-1]), one) for one in met[:1]]


def _in_both(scene: Scene) -> Found:
    """The parameters of a group that an earlier group of the optimizer holds too."""
    for frame in scene.below:
        known = locals_of(frame)
        group, earlier = known.get("param_group"), known.get("param_set")
        if type(group) is dict and type(earlier) is set:
            held = {id(one) for one in earlier}
            yield from (("", one) for one in group["params"] if id(one) in held)


_ARGUMENT = re.compile(r"argument '(\w+)'")


def _argument_in_question(scene: Scene) -> Found:
    """The argument that a message names, as the statement passes it."""
    names = _ARGUMENT.findall(scene.said)
    for node in ast.walk(scene.statement) if scene.statement is not None else ():
        if isinstance(node, ast.keyword) and node.arg in names:
            value = value_of(node.value, scene.frames[0])
            if compat.is_tensor(value):
                yield ast.unparse(node.value), value
    yield from _in_locals(scene, trained, *names)


def _disconnected(scene: Scene) -> Found:
    """The inputs of `autograd.grad` that its outputs were not computed from."""
    reached = graph_behind(nodes_of(outputs_of(scene)))
    for tensor in scene.local("inputs", "t_inputs"):
        if (
            compat.is_tensor(tensor)
            and reached.place_of(compat.grad_fn_of(tensor) or compat.leaf_node_of(tensor)) is None
        ):
            yield "", tensor


def unregistered_layers(scene: Scene) -> Iterator[str]:
    """The attributes of the networks in the statement that hold layers in a plain list, tuple or dict."""
    kind = compat.torch_module().nn.Module
    for node in ast.walk(scene.statement) if scene.statement is not None else ():
        model = value_of(node, scene.frames[0]) if isinstance(node, (ast.Name, ast.Attribute)) else None
        for name, value in entries(space_of(model)) if is_a(model, kind) else ():
            if name in MODULE_INTERNALS:
                continue
            parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
            if any(is_a(part, kind) for part in parts):
                yield f"{ast.unparse(node)}.{name}"


def outputs_of(scene: Scene) -> list[Any]:
    return [one for one in scene.local("self", "tensors", "outputs", "t_outputs") if compat.is_tensor(one)]


def nodes_of(tensors: Iterable[Any]) -> list[Any]:
    return [node for node in map(compat.grad_fn_of, tensors) if node is not None]


def _computed(tensor: Any) -> bool:
    return not tensor.is_leaf


def trained(tensor: Any) -> bool:
    return bool(tensor.requires_grad)


def _untrained(tensor: Any) -> bool:
    return not tensor.requires_grad


def _several(tensor: Any) -> bool:
    return bool(tensor.numel() != 1)


def _whole(tensor: Any) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex())


def _inference(tensor: Any) -> bool:
    return bool(tensor.is_inference())


def _sparsely(tensor: Any) -> bool:
    return _has_gradient(tensor, sparse=True)


def _densely(tensor: Any) -> bool:
    return _has_gradient(tensor, sparse=False)


def _has_gradient(tensor: Any, *, sparse: bool) -> bool:
    gradient = plainly(tensor).grad
    return gradient is not None and bool(plainly(gradient).is_sparse) == sparse


def _anything(tensor: Any) -> bool:
    return True


ABOUT: dict[str, Callable[[Scene], Found]] = {
    "leaf-written-in-place": _written,
    "view-of-leaf-written-in-place": _written,
    "non-leaf-optimized": lambda scene: _in_locals(scene, _computed, "param", "params"),
    "grad-is-none": _computed_without_gradient,
    "grad-of-leaf-is-none": _leaf_without_gradient,
    "non-leaf-copied": _copied,
    "integer-requires-grad": lambda scene: (*_owners(scene, "requires_grad", "requires_grad_"), *named(scene, _whole)),
    "non-leaf-sent": lambda scene: _in_locals(scene, _computed, "tensor"),
    "requires-grad-of-non-leaf": lambda scene: _owners(scene, "requires_grad", "requires_grad_"),
    "assigned-gradient-of-another-size": lambda scene: _owners(scene, "grad"),
    "assigned-gradient-of-another-type": lambda scene: _owners(scene, "grad"),
    "map-on-a-graph-tensor": lambda scene: _owners(scene, "map_", "map2_"),
    "apply-on-a-graph-tensor": lambda scene: _owners(scene, "apply_"),
    "tensor-as-parameter": lambda scene: _in_locals(scene, _anything, "value", "param"),
    "hook-on-non-leaf": lambda scene: _in_locals(scene, _computed, "self"),
    "loss-not-scalar": lambda scene: _in_locals(scene, _several, "self", "tensors", "outputs"),
    "loss-is-complex": lambda scene: _in_locals(scene, _anything, "self", "tensors", "outputs"),
    "gradient-of-another-shape": lambda scene: _in_locals(scene, _anything, "self", "tensors", "outputs"),
    "gradients-not-one-each": lambda scene: _in_locals(scene, _anything, "tensors", "outputs"),
    "input-not-in-the-graph": _disconnected,
    "input-needs-no-gradient": lambda scene: _in_locals(scene, _untrained, "inputs", "t_inputs"),
    "hook-without-grad": lambda scene: _in_locals(scene, _untrained, "self"),
    "one-of-several-views-written": _written,
    "view-of-no-grad-written": _written,
    "view-of-inference-written": _written,
    "view-of-custom-function-written": _written,
    "expanded-tensor-written": _written,
    "inference-tensor-saved": lambda scene: (*named(scene, _inference), *_in_locals(scene, _inference, "input", "x")),
    "inference-tensor-written": _written,
    "inference-tensor-requires-grad": lambda scene: named(scene, _inference),
    "inference-tensor-version": lambda scene: named(scene, _inference),
    "parameter-in-two-groups": _in_both,
    "sparse-gradient-refused": lambda scene: _in_locals(scene, _sparsely, "p", "param", "params"),
    "dense-gradient-refused": lambda scene: _in_locals(scene, _densely, "p", "param", "params"),
    "half-gradients-unscaled": lambda scene: _in_locals(scene, _anything, "param"),
    "retain-grad-without-grad": lambda scene: named(scene, _untrained),
    "argument-not-differentiable": _argument_in_question,
}  # fmt: skip
