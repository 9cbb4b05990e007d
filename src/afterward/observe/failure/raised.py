"""Explains the other errors of autograd: which tensor they are about, where it was made, and why it is what it is.

Looked into when the exception has left the program: its traceback still holds the frames, and they the tensors.
Expressions are followed by hand; no code of the program runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import unwrap
from types import FrameType, FunctionType, MethodType
from typing import Any

from afterward import messages
from afterward.follow.path import Place
from afterward.follow.reading import Name
from afterward.model.history import Cut, Gap, History, Pass
from afterward.model.raised import Operand, Raised
from afterward.model.site import Site, Where
from afterward.observe import compat
from afterward.observe.failure.graph import each, graph_behind
from afterward.observe.failure.postmortem import Autopsy
from afterward.observe.failure.scene import (
    ABOUT,
    Scene,
    named,
    nodes_of,
    outputs_of,
    scene_of,
    trained,
    unregistered_layers,
)
from afterward.observe.node_numbers import order_of
from afterward.observe.provenance.cuts import cuts_of_history, find_cuts
from afterward.observe.provenance.frame_values import value_of
from afterward.observe.recording.recorder import Recorder
from afterward.observe.silent.ledger import LedgerWriter


def examine_raised(
    recorder: Recorder, error: BaseException, *, is_user: Any, gaps: list[Gap], ledger: LedgerWriter
) -> History | None:
    """What an exception of autograd's is about; None where it tells of something else."""
    pages = [page for page in messages.find_in_a_run(str(error)) if page.rules]
    scene = scene_of(error, is_user) if pages else None
    if scene is None:
        return None
    examined = (_Examination(recorder, is_user, ledger).history_of(page, scene, tuple(gaps)) for page in pages)
    return next((history for history in examined if history is not None), None)


_OPERATION = re.compile(r"^[Ff]unction '?(\w+)'? returned")
_WORD = re.compile(r"[a-z]+")
_KIND_OF_NODE = re.compile(r"^linalg|backward\d*$")  # what stands around an operation's name in that of its node
_HOOK = re.compile(r"hook '(\w+)'")
_UNDERIVED = re.compile(r"derivative for '?(?:aten::)?(\w+)")
_NUMBER = re.compile(r"'(float|int|bool|complex|numpy\.\w+)' object")
_OF_NO_TENSOR = {  # messages about a function, a hook or an optimizer
    "custom-backward-count", "custom-backward-shape", "backward-not-written", "differentiated-once-only",
    "checkpoint-returns-no-graph", "hook-returns-another-count", "hook-changes-the-gradient", "closure-missing",
    "written-input-not-returned", "forward-not-written", "negative-slope-in-place", "strict-derivative-of-nothing",
    "custom-backward-for-no-tensor", "custom-backward-returns-no-tensor", "marked-value-is-no-input",
    "form-without-derivative", "recurrent-layer-differentiated-twice", "chunked-loss-backward-twice",
    "pack-hook-writes", "no-inputs",
}  # fmt: skip
_CUT_OFF = {  # messages about a tensor that some statement has cut off, and what tells that statement's kind
    "input-not-in-the-graph": "",
    "hook-without-grad": "",
    "retain-grad-without-grad": "",
    "inference-tensor-saved": "inference_mode",
    "inference-tensor-written": "inference_mode",
    "inference-tensor-requires-grad": "inference_mode",
}
_OTHERWISE = trained  # any tensor of the statement that needs gradients


class _Examination(Autopsy):
    def history_of(self, page: messages.Page, scene: Scene, gaps: tuple[Gap, ...]) -> History | None:
        frame, message = scene.frames[0], scene.said
        scene.statement = self._statement(frame, scene.line)
        about = ABOUT.get(page.name)
        found = list(about(scene) if about is not None else named(scene, _OTHERWISE))
        found += [("", one) for one in outputs_of(scene)] if page.name in _OF_NO_TENSOR else []
        found = [] if page.about == "run" else found
        tensors = _each_once(found)
        if page.in_a_run and not tensors:
            return None  # some other None
        self.inputs, self.outputs = [], ()
        nodes = [node for _, tensor in tensors if (node := compat.grad_fn_of(tensor)) is not None]
        self.look_from([(node, 0) for node in nodes], scene.frames)
        self.rewind(frame.f_code.co_filename, scene.line)
        where = self.where(self.trail[-1] if self.trail else None)
        if where is None:
            return None
        if page.name == "loss-is-no-tensor":
            return self._of_a_number(where, scene, gaps)
        # A parameter's own name says more than that of an item or of a loop's variable.
        written = {id(one): text for text, one in scene.tensors()} | self.names.owned
        operands = tuple(self._operand(text or written.get(id(tensor), ""), tensor) for text, tensor in tensors)
        first = self._special(page.name, scene) or self._custom_function(page.name, message)
        first = first or self._operation_named(message) or self._operation_underived(page.name, message)
        first = first or (operands[0] if operands and page.name not in _OF_NO_TENSOR else None)
        if first is not None and page.name == "input-not-in-the-graph":
            first = replace(first, shared=tuple(self._shared(outputs_of(scene), tensors[0][1])))
        return History(
            raised=(Raised(page.name, page.rules, message, where, first, operands[1:], page.about == "run"),),
            cuts=self._cuts(page.name, where, first, scene, tensors[0][1] if tensors else None),
            gaps=gaps,
        )

    def _of_a_number(self, where: Where, scene: Scene, gaps: tuple[Gap, ...]) -> History | None:
        """`backward()` was called on a plain number: a pass that could not begin, as one over a cut graph."""
        if _NUMBER.match(scene.said) is None:
            return None
        late = Pass(0, where, where.moment, receiver=next(scene.owners_of("backward"), ""), error="no_grad")
        return History(passes=(late,), cuts=find_cuts(self.paths, late, self.trail, self.where), gaps=gaps)

    def _special(self, page: str, scene: Scene) -> Operand | None:
        """What a message is about where that is no tensor at hand: a checkpointed function, an optimizer, a hook, or a
        tensor that is no part of the graph any more."""
        finders: dict[str, Callable[[], Iterator[Operand]]] = {
            "checkpoint-returns-no-graph": lambda: map(self._checkpointed, scene.local("ctx")),
            "checkpoint-with-grad": self._reentrant_checkpoints,
            "scaler-unscaled-twice": lambda: (_named(scene.written_as(one)) for one in scene.local("optimizer")),
            "scaler-without-gradients": lambda: (_named(scene.written_as(one)) for one in scene.local("optimizer")),
            "nothing-to-optimize": lambda: map(self._not_registered, unregistered_layers(scene)),
            "gradients-not-finite": self._first_not_finite,
            "closure-missing": lambda: map(_named, scene.owners_of("step")),
            "forward-not-written": lambda: map(_named, scene.owners_of("apply")),
            "written-input-not-returned": lambda: map(self._applied, scene.owners_of("apply"), scene.local("cls")),
            "marked-value-is-no-input": lambda: map(self._applied, scene.owners_of("apply"), scene.local("cls")),
            "hook-returns-another-count": lambda: map(
                self._hook, (*scene.local("hook"), *scene.functions(_HOOK.findall(scene.said)))
            ),
            "hook-changes-the-gradient": lambda: map(self._hook, scene.functions(_HOOK.findall(scene.said))),
            "saved-tensor-detached-in-place": self._detached_in_place,
        }
        return next(finders[page](), None) if page in finders else None

    def _hook(self, function: Any) -> Operand:
        """A hook of the program's own, and where it returns."""
        name = getattr(function, "__name__", "")
        return Operand(name if name.isidentifier() else "", False, False, stored=self._last_return(function))

    def _checkpointed(self, node: Any) -> Operand:
        """The function that a checkpoint calls, and where the checkpoint was made."""
        function = getattr(node, "run_function", None)
        name = function.__name__ if isinstance(function, (FunctionType, MethodType)) else ""
        place = self.where(self.places.get(order_of(node)))
        return Operand(name, False, True, "checkpoint", place, self._last_return(function) if name else None)

    def _reentrant_checkpoints(self) -> Iterator[Operand]:
        """Where the graph's checkpoints were made, of those that call `backward()` themselves."""
        nodes = (node for node in each(self.found) if hasattr(node, "run_function"))
        return (replace(self._checkpointed(node), stored=None) for node in nodes)

    def _not_registered(self, name: str) -> Operand:
        return Operand(name, False, True, stored=self._stored("self." + name.rpartition(".")[2]))

    def _applied(self, name: str, function: Any) -> Operand:
        """A custom function as the statement writes it, and where its `forward` returns."""
        return Operand(name, False, False, stored=self._last_return(function.forward))

    def _detached_in_place(self) -> Iterator[Operand]:
        """What the program detached in place, and where, if only one of its statements does such a thing."""
        found: dict[tuple[int, str], Operand] = {}
        for place in self.trail:
            statement = self.sources.statement(place.number)
            for node in ast.walk(statement) if isinstance(statement, ast.Expr | ast.Assign) else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach_":
                    name = ast.unparse(node.func.value)
                    site = self.sources.site(self.sources.statements.table[place.number])
                    found[place.number, name] = Operand(name, True, False, stored=site)
        return iter(found.values() if len(found) == 1 else ())

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
        leaves = (getattr(node, "variable", None) for node in each(graph_behind(nodes_of(tensors))))
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
        """The operation of the graph that a message of anomaly mode names, `Function 'SqrtBackward0'`; where a run has
        looked for it, the first whose gradient was not finite."""
        named = _OPERATION.search(message)
        seen = next(self._first_not_finite(), None) if named is not None else None
        if seen is not None:
            return seen
        nodes = enumerate(each(self.found)) if named is not None else ()
        found = [self.found.node(place) for place, node in nodes if named is not None and node.name() == named[1]]
        if not found:
            return None
        # A pass executes the newer ones first, frees what each had saved, and was stopped by the last that it freed.
        freed = [node for node in found if any(state == "freed" for _, state, _ in compat.saved_states(node))]
        if not freed and len(found) > 1:
            return Operand("", False, True, found[0].name())
        last = min(freed or found, key=order_of)
        return Operand("", False, True, last.name(), self.where(self.places.get(order_of(last))))

    def _first_not_finite(self) -> Iterator[Operand]:
        """What a run that looked for it has seen: the first operation whose gradient was not finite."""
        seen = self.recorder.not_finite
        if seen is not None and seen.order in self.places:
            yield Operand("", False, True, seen.op, self.where(self.places[seen.order]), extents=seen.extents)

    def _operation_underived(self, page: str, message: str) -> Operand | None:
        """The operation of the graph that has no derivative: it bears the name in the message, or none of its own."""
        named = _UNDERIVED.search(message)
        names = (named[1].replace("_", "").lower(), "notimplemented") if named is not None else ()
        words = _WORD.findall(message.lower()) if page == "form-without-derivative" else ()
        for node in self._newest_first():
            op = node.name().lower()
            if any(name in op for name in names) or _KIND_OF_NODE.sub("", op) in words:
                return Operand("", False, True, node.name(), self.where(self.places.get(order_of(node))))
        return None

    def _newest_first(self) -> Iterator[Any]:
        """The nodes of the graph, to be asked."""
        return map(self.found.ask, sorted(range(len(self.found)), key=self.orders.__getitem__, reverse=True))

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
        only = self._only_custom_function() if page == "custom-backward-returns-no-tensor" else None
        tests: dict[str, Callable[[Any], bool]] = {
            "differentiated-once-only": compat.is_differentiated,
            "backward-not-written": compat.writes_no_backward,
            "custom-backward-returns-no-tensor": lambda node: (
                only is not None and compat.custom_function_of(node) is only
            ),
        }
        by_name: Callable[[Any], bool] = lambda node: named is not None and node.name() == named[1]  # noqa: E731
        test = tests.get(page, by_name)
        for node in self._newest_first() if page in _OF_NO_TENSOR else ():
            if test(node):
                function = compat.custom_function_of(node)
                name = function.__name__ if function is not None else ""
                place = self.where(self.places.get(order_of(node)))
                return Operand(name, False, True, node.name(), place, self._returns(function))
        return None

    def _only_custom_function(self) -> Any:
        """The only custom function in the graph, which a message without a name is about; None where there are several.
        Told apart by identity: a class of the program's may have a hash of its own."""
        functions = (compat.custom_function_of(node) for node in each(self.found))
        known = {id(function): function for function in functions if function is not None}
        return next(iter(known.values())) if len(known) == 1 else None

    def _returns(self, function: Any) -> Site | None:
        """The last `return` of a custom function's `backward`."""
        return self._last_return(function.backward) if function is not None else None

    def _last_return(self, function: Any) -> Site | None:
        code = getattr(unwrap(function), "__code__", None)
        if code is None or not self.is_user(code.co_filename):
            return None
        inside = range(code.co_firstlineno, max(line or 0 for _, _, line in code.co_lines()) + 1)
        returns = (one for one in self.sources.statements_of(code.co_filename) if isinstance(one, ast.Return))
        last = max((one for one in returns if one.lineno in inside), key=lambda one: one.lineno, default=None)
        return self.sources.site_of(code.co_filename, last) if last is not None else None


def _span(node: ast.expr) -> tuple[int, int, int | None]:
    return node.lineno, node.col_offset, node.end_col_offset


def _each_once(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Each tensor where it was found first, by the expression that was found first."""
    firsts: dict[int, tuple[str, Any]] = {}
    for text, tensor in found:
        firsts.setdefault(id(tensor), (text, tensor))
    return list(firsts.values())


def _named(name: str) -> Operand:
    return Operand(name, False, False)
