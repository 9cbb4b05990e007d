"""What the program calls the parameters, optimizers and losses that a change of the training is told by."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from afterward.model import facts
from afterward.model.facts import Fact, Note
from afterward.model.site import Site
from afterward.model.training import Line, Training
from afterward.tasks.ledger import Ledger, Loss


@dataclass
class Names:
    """Of one program, as two runs of it have shown them."""

    was: Ledger
    sources: Mapping[str, str]  # of the program as it was
    trial: Training

    def told(self, kind: str, found: Mapping[Loss, Iterable[int]]) -> Iterator[Note]:
        for loss, numbers in sorted(found.items(), key=str):
            yield Note(kind, (self.subject(numbers), *self.loss(loss)))

    def gone(self, optimizer: int, count: int, of: int) -> Note:
        return Note("updates_gone", (self.optimizer(optimizer), facts.count("count", count), facts.count("of", of)))

    def optimizer(self, number: int) -> Fact:
        named = {**self.trial.optimizers, **self.was.training.optimizers}
        return facts.names("subject", (named.get(number, "optimizer"),))

    def subject(self, numbers: Iterable[int]) -> Fact:
        """What the program calls these parameters: the modules that they make up, else the parameters themselves."""
        training = self.was.training if self.was.training.modules else self.trial
        left, found = set(numbers), list[str]()
        for name, held in sorted(training.modules.items(), key=lambda one: (-len(one[1]), one[0].count("."), one[0])):
            if held and left >= set(held):
                found.append(name)
                left -= set(held)
        known = {**self.trial.names, **training.names}
        found += [known.get(number, f"parameter {number}") for number in sorted(left)]
        return facts.names("subject", tuple(found))

    def loss(self, loss: Loss) -> tuple[Fact, ...]:
        """What the program calls a loss, or its line."""
        if loss is None:
            return ()
        how, line = loss
        name = self._called(loss) if how == "made" else _loss_at(self.sources.get(line.file, ""), line.line)
        where = facts.lines("line", Site(line.file, line.line, line.line))
        return (facts.code("loss", name), where) if name else (where,)

    def _called(self, loss: tuple[str, Line]) -> str:
        calls = [taken.at for taken in self.was.passes.values() if loss in self.was.losses(taken)]
        called = {_loss_at(self.sources.get(at.file, ""), at.line) for at in calls if at is not None}
        only = called.pop() if len(called) == 1 else ""
        return only or _target_at(self.sources.get(loss[1].file, ""), loss[1].line)


def _statements_at(text: str, line: int) -> Iterator[ast.stmt]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or hasattr(node, "body"):
            continue
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            yield node


def _loss_at(text: str, line: int) -> str:
    """`g_loss` of `g_loss.backward()` and of `backward(g_loss)`."""
    for statement in _statements_at(text, line):
        for node in ast.walk(statement):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if "backward" in name or name == "grad":
                told = node.func.value if isinstance(node.func, ast.Attribute) and not node.args else None
                value = told or (node.args[0] if node.args else None)
                if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
                    return ast.unparse(value)
    return ""


def _target_at(text: str, line: int) -> str:
    for statement in _statements_at(text, line):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            if isinstance(target, (ast.Name, ast.Attribute)):
                return ast.unparse(target)
    return ""
