"""Explains the other errors of autograd: which tensor they are about, where it was made, and why it is what it is.

Looked into when the exception has left the program: its traceback still holds the frames, and they the tensors.
Expressions are followed by hand; no code of the program runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from inspect import unwrap
from types import FrameType
from typing import Any

from afterward import messages
from afterward.follow.path import Place
from afterward.follow.reading import Name
from afterward.model.history import Cut, Gap, History, Pass
from afterward.model.raised import Operand, Raised
from afterward.model.site import Site, Where
from afterward.observe import compat
from afterward.observe.failure.copying import way_of_copy
from afterward.observe.failure.postmortem import Autopsy
from afterward.observe.failure.walk import walk
from afterward.observe.marks.stack import locals_of
from afterward.observe.node_numbers import order_of
from afterward.observe.provenance.cuts import cuts_of_history, find_cuts
from afterward.observe.provenance.frame_values import value_of
from afterward.observe.recording.recorder import Recorder
from afterward.observe.silent.ledger import LedgerWriter


def examine_raised(
    recorder: Recorder, error: BaseException, *, is_user: Any, gaps: list[Gap], ledger: LedgerWriter
) -> History | None:
    """What an exception of autograd's is about; None where it tells of something else."""
    page = messages.find_in_a_run(str(error))
    if page is None or not page.rules:
        return None
    scene = _scene(error, is_user)
    if scene is None:
        return None
    examined = _Examination(recorder, is_user, ledger)
    return examined.history_of(page, scene, str(error), tuple(gaps))


@dataclass
class Scene:
    """Where it was raised: the program's frames, innermost first, and those of libraries below, innermost first."""

    frames: list[FrameType]
    line: int
    below: list[FrameType]
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

    def local(self, *names: str) -> Iterator[Any]:
        """What library frames call by one of these names, the innermost first."""
        for frame in self.below:
            known = locals_of(frame)
            for name in names:
                if name in known:
                    value = known[name]
                    yield from value if type(value) in (list, tuple) else [value]


def _scene(error: BaseException, is_user: Any) -> Scene | None:
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
    return Scene(frames[::-1], line, below[::-1]) if frames else None


# Which tensor a message is about: (its expression, the tensor), best first

Found = Iterable[tuple[str, Any]]
Test = Callable[[Any], bool]


def _named(scene: Scene, test: Test) -> Found:
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


def _without_gradient(scene: Scene) -> Found:
    """The owner of a `.grad` that is None because it is no leaf. A leaf has none until its first `backward()`."""
    return (found for found in _owners(scene, "grad") if not found[1].is_leaf)


def _span(node: ast.expr) -> tuple[int, int, int | None]:
    return node.lineno, node.col_offset, node.end_col_offset


def _copied(scene: Scene) -> Found:
    """What a deep copy came to, by the way that it took."""
    met = [one for one in scene.local("self") if compat.is_tensor(one) and _computed(one)]
    return [(way_of_copy(scene.statement, scene.below[::-1]), one) for one in met[:1]]


def _disconnected(scene: Scene) -> Found:
    """The inputs of `autograd.grad` that its outputs were not computed from."""
    reached = {id(node) for node in walk(_nodes(_outputs(scene))).nodes}
    for tensor in scene.local("inputs", "t_inputs"):
        if compat.is_tensor(tensor) and id(compat.grad_fn_of(tensor) or compat.leaf_node_of(tensor)) not in reached:
            yield "", tensor


def _outputs(scene: Scene) -> list[Any]:
    return [one for one in scene.local("self", "tensors", "outputs", "t_outputs") if compat.is_tensor(one)]


def _nodes(tensors: Iterable[Any]) -> list[Any]:
    return [node for node in map(compat.grad_fn_of, tensors) if node is not None]


def _computed(tensor: Any) -> bool:
    return not tensor.is_leaf


def _trained(tensor: Any) -> bool:
    return bool(tensor.requires_grad)


def _untrained(tensor: Any) -> bool:
    return not tensor.requires_grad


def _several(tensor: Any) -> bool:
    return bool(tensor.numel() != 1)


def _whole(tensor: Any) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex())


def _inference(tensor: Any) -> bool:
    return bool(tensor.is_inference())


def _anything(tensor: Any) -> bool:
    return True


_ABOUT: dict[str, Callable[[Scene], Found]] = {
    "leaf-written-in-place": _written,
    "view-of-leaf-written-in-place": _written,
    "non-leaf-optimized": lambda scene: _in_locals(scene, _computed, "param", "params"),
    "grad-is-none": _without_gradient,
    "non-leaf-copied": _copied,
    "integer-requires-grad": lambda scene: (*_owners(scene, "requires_grad", "requires_grad_"), *_named(scene, _whole)),
    "non-leaf-sent": lambda scene: _in_locals(scene, _computed, "tensor"),
    "requires-grad-of-non-leaf": lambda scene: _owners(scene, "requires_grad", "requires_grad_"),
    "assigned-gradient-of-another-size": lambda scene: _owners(scene, "grad"),
    "assigned-gradient-of-another-type": lambda scene: _owners(scene, "grad"),
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
    "inference-tensor-saved": lambda scene: (*_named(scene, _inference), *_in_locals(scene, _inference, "input", "x")),
    "inference-tensor-written": _written,
    "inference-tensor-requires-grad": lambda scene: _named(scene, _inference),
    "inference-tensor-version": lambda scene: _named(scene, _inference),
    "retain-grad-without-grad": lambda scene: _named(scene, _untrained),
}  # fmt: skip
_OPERATION = re.compile(r"^[Ff]unction '?(\w+)'? returned")
_OF_FUNCTIONS = {
    "custom-backward-count", "custom-backward-shape", "backward-not-written", "differentiated-once-only",
}  # fmt: skip
_CUT_OFF = {  # messages about a tensor that some statement has cut off, and what tells that statement's kind
    "input-not-in-the-graph": "",
    "hook-without-grad": "",
    "retain-grad-without-grad": "",
    "inference-tensor-saved": "inference_mode",
    "inference-tensor-written": "inference_mode",
    "inference-tensor-requires-grad": "inference_mode",
}
_OTHERWISE = _trained  # any tensor of the statement that needs gradients


class _Examination(Autopsy):
    def history_of(self, page: messages.Page, scene: Scene, message: str, gaps: tuple[Gap, ...]) -> History | None:
        frame = scene.frames[0]
        scene.statement = self._statement(frame, scene.line)
        about = _ABOUT.get(page.name)
        found = list(about(scene) if about is not None else _named(scene, _OTHERWISE))
        found += [("", one) for one in _outputs(scene)] if page.name in _OF_FUNCTIONS else []
        found = [] if page.about == "run" else found
        tensors = list({id(tensor): (text, tensor) for text, tensor in reversed(found)}.values())[::-1]
        if about is not None and not tensors and page.name == "grad-is-none":
            return None  # some other None
        self.inputs, self.outputs = [], ()
        nodes = [node for _, tensor in tensors if (node := compat.grad_fn_of(tensor)) is not None]
        self.look_from([(node, 0) for node in nodes], scene.frames)
        self.rewind(frame.f_code.co_filename, scene.line)
        where = self.where(self.trail[-1] if self.trail else None)
        if where is None:
            return None
        written = {id(tensor): text for text, tensor in scene.tensors()}
        operands = tuple(self._operand(text or written.get(id(tensor), ""), tensor) for text, tensor in tensors)
        first = self._custom_function(page.name, message) or self._operation_named(message)
        first = first or (operands[0] if operands and page.name not in _OF_FUNCTIONS else None)
        if first is not None and page.name == "input-not-in-the-graph":
            first = replace(first, shared=tuple(self._shared(_outputs(scene), tensors[0][1])))
        return History(
            raised=(Raised(page.name, page.rules, message, where, first, operands[1:], page.about == "run"),),
            cuts=self._cuts(page.name, where, first, scene, tensors[0][1] if tensors else None),
            gaps=gaps,
        )

    def _may_disconnect(self, cut: Cut, scene: Scene, tensor: Any) -> bool:
        """Was what was cut computed from this tensor? Where it cannot be looked at any more, it may have been."""
        frame = scene.frames[0]
        values = (value_of(one, frame) for one in self._cut_from(cut.site, frame.f_code.co_filename))
        value = next((value for value in values if compat.is_tensor(value)), None)
        if value is None or not tensor.is_leaf:
            return True
        return value is tensor or id(tensor) in self._leaves_below([value])

    def _cut_from(self, site: Site, file: str) -> Iterator[ast.expr]:
        """`b` of `b.detach()` and of `b.data`, where that is what a site marks."""
        marked = (site.line, site.column, site.end_column)
        for statement in self.sources.statements_of(file):
            for node in ast.walk(statement):
                if isinstance(node, (ast.Call, ast.Attribute)) and _span(node) == marked:
                    whole = node.func if isinstance(node, ast.Call) else node
                    yield from [whole.value] if isinstance(whole, ast.Attribute) else []

    def _cuts(self, page: str, where: Where, operand: Operand | None, scene: Scene, tensor: Any) -> tuple[Cut, ...]:
        """The statement that cut off what the message is about."""
        if page not in _CUT_OFF or operand is None:
            return ()
        late = Pass(0, where, where.moment, receiver=operand.name if operand.is_inference or "grad" in page else "")
        if page == "input-not-in-the-graph":
            found = cuts_of_history(self.paths, late, self.trail, self.where)
            return tuple(cut for cut in found if self._may_disconnect(cut, scene, tensor))[:1]
        cuts = find_cuts(self.paths, late, self.trail, self.where)
        return tuple(cut for cut in cuts if _CUT_OFF[page] in cut.how)[:1]

    def _shared(self, outputs: list[Any], tensor: Any) -> Iterator[str]:
        """Leaves that both the outputs and a tensor depend on, by their names."""
        of_outputs = set(self._leaves_below(outputs))
        of_tensor = self._leaves_below([tensor]) if not tensor.is_leaf else []
        return (self.names.leaves[leaf] for leaf in of_tensor if leaf in of_outputs and leaf in self.names.leaves)

    def _leaves_below(self, tensors: list[Any]) -> list[int]:
        nodes = walk(_nodes(tensors)).nodes
        leaves = (getattr(node, "variable", None) for node in nodes)
        return [id(leaf) for leaf in leaves if leaf is not None]

    def _statement(self, frame: FrameType, line: int) -> ast.stmt | None:
        """The statement that a frame is at: of those on one line the outer one, or the body of a lambda."""
        statements = self.sources.statements_of(frame.f_code.co_filename)
        around = [one for one in statements if one.lineno <= line <= (one.end_lineno or one.lineno)]
        inward = -1 if frame.f_code.co_name == "<lambda>" else 1
        key = lambda one: ((one.end_lineno or one.lineno) - one.lineno, inward * one.col_offset)  # noqa: E731
        return min(around, key=key, default=None)

    def _operand(self, text: str, tensor: Any) -> Operand:
        name = text or self._name(tensor)
        node = compat.grad_fn_of(tensor)
        place: Place | None = self.places.get(order_of(node)) if node is not None else None
        return Operand(
            name=name,
            is_leaf=bool(tensor.is_leaf),
            requires_grad=bool(tensor.requires_grad),
            op=node.name().rpartition("::")[2] if node is not None else "",
            made=self.where(place),
            stored=self._stored(name),
            shape=tuple(tensor.shape),
            dtype=str(tensor.dtype).removeprefix("torch."),
            is_view=bool(tensor._is_view()),
            is_inference=bool(tensor.is_inference()),
            base=self._name(tensor._base) if tensor._is_view() else "",
        )

    def _operation_named(self, message: str) -> Operand | None:
        """The newest operation of the graph that a message of anomaly mode names: `Function 'SqrtBackward0'`; where a
        run has looked for it, the first whose gradient was not finite."""
        named = _OPERATION.search(message)
        seen = self.recorder.not_finite if named is not None else None
        if seen is not None and seen.order in self.places:
            place = self.where(self.places[seen.order])
            return Operand("", False, True, seen.op, place, extents=seen.extents)
        found = [node for node in self.found.nodes if named is not None and node.name() == named[1]]
        if not found:
            return None
        newest = max(found, key=order_of)
        return Operand("", False, True, newest.name(), self.where(self.places.get(order_of(newest))))

    def _name(self, tensor: Any) -> str:
        """The shortest name that the program has for it."""
        held = [one for one in self.names.held if one.tensor == id(tensor)]
        return min(held, key=lambda one: one.depth).name if held else self.names.leaves.get(id(tensor), "")

    def _stored(self, name: str) -> Site | None:
        """The last statement that gave this name its value, or put it into what it is an item of."""
        if not name or not self.trail:
            return None
        place = self.paths.assigned_before(Name(name, ast.parse(name, mode="eval").body), self.trail[-1])
        return self.sources.site(self.sources.statements.table[place.number]) if place is not None else None

    def _custom_function(self, page: str, message: str) -> Operand | None:
        """The `autograd.Function` of the program's own that a message is about: where it was applied, and what it
        returns. Of one that may be differentiated once, the graph has only where that was."""
        named = _OPERATION.search(message)
        tests: dict[str, Callable[[Any], bool]] = {
            "differentiated-once-only": compat.is_differentiated,
            "backward-not-written": compat.writes_no_backward,
        }
        by_name: Callable[[Any], bool] = lambda node: named is not None and node.name() == named[1]  # noqa: E731
        test = tests.get(page, by_name)
        for node in sorted(self.found.nodes, key=order_of, reverse=True) if page in _OF_FUNCTIONS else ():
            if test(node):
                function = compat.custom_function_of(node)
                name = function.__name__ if function is not None else ""
                place = self.where(self.places.get(order_of(node)))
                return Operand(name, False, True, node.name(), place, self._returns(function))
        return None

    def _returns(self, function: Any) -> Site | None:
        """The last `return` of a custom function's `backward`."""
        code = getattr(unwrap(function.backward), "__code__", None) if function is not None else None
        if code is None or not self.is_user(code.co_filename):
            return None
        inside = range(code.co_firstlineno, max(line or 0 for _, _, line in code.co_lines()) + 1)
        returns = (one for one in self.sources.statements_of(code.co_filename) if isinstance(one, ast.Return))
        last = max((one for one in returns if one.lineno in inside), key=lambda one: one.lineno, default=None)
        return self.sources.site_of(code.co_filename, last) if last is not None else None
