"""Random training programs as people lay them out: every way to write a line, a block and a line end."""

from __future__ import annotations

import random
from collections.abc import Iterator

_NAMES = ("loss", "hidden", "state", "x", "self.h", "cache['k']", "out[0]", "größe", "net.memory[-1]", "losses['g']")
_VALUES = (
    "net(x)",
    "net(x, hidden)",
    "loss_a + loss_b",
    "(loss_a\n{more}+ loss_b)",
    "net(\n{more}x,  # the batch\n{more}hidden,\n{less})",
    "x.detach()",
    "(x.detach())",
    "hidden.data",
    "torch.tensor([a, b])",
    "torch.tensor(\n{more}[a.item() for a in losses],\n{less})",
    "torch.as_tensor(float(total))",
    "a if flag else b",
    "lambda: loss",
    "[l.item() for l in losses]",
    "{{'loss': loss, **more}}",
    "(a, b)",
    "a, b",
    "-loss",
    "not done",
    "scaler.scale(loss / 2)",
    "(yielded := net(x))",
    "torch.autograd.grad(loss, net.parameters())",
    "torch.autograd.grad(loss, net.parameters(), create_graph=True)[0]",
    'f"{{loss.item():.3f}} {{x}}"',
    '"""text\n  over lines\n"""',
    "x.tolist()",
    "a \\\n{more}* b",
    "1.5",
    "None",
    "await_me(x)[0]['h'].mean()",
)
_PASSES = (
    "loss.backward()",
    "loss.backward( )",
    "loss.backward(retain_graph=True)",
    "loss.backward(retain_graph = True,)",
    "loss.backward(\n{more}gradient=g,\n{more}retain_graph=True,  # for the second one\n{less})",
    "(loss_a + loss_b).backward()",
    "(\n{more}loss\n{more}.mean()\n{more}.backward()\n{less})",
    "scaler.scale(loss).backward()",
    "scaler.scale(loss_b).backward(retain_graph=True)",
    "accelerator.backward(loss)",
    "self.manual_backward(loss_a, retain_graph=True)",
    "torch.autograd.backward([loss, other])",
    "criterion(net(x), y).backward(create_graph=True)",
    "losses['g'].backward()",
    "loss_b.backward()",
    "(loss.backward())",
    "sum(losses).backward(inputs=list(net.parameters()))",
)
_OTHERS = (
    "opt.step()",
    "optimizer_g.step()",
    "scheduler.step()",
    "opt.zero_grad()",
    "opt.zero_grad",
    "net.zero_grad(set_to_none=True)",
    "hidden.detach()",
    "hidden.detach_()",
    "x.relu_()",
    "total += loss",
    "w -= lr * w.grad",
    "hidden[0] = new",
    "x *= 2 if flag else 3",
    "log.append(loss)",
    "log.append({{'loss': loss, 'n': 1}})",
    "print(f'{{loss}}', loss, sep='')",
    "self.replay.push(x, value, *rest, key=value)",
    "for p in net.parameters(): p.requires_grad_(False)",
    "torch.set_grad_enabled(False)",
    "del hidden",
    "pass",
    "assert loss == loss, 'nan'",
    "w.data.sub_(lr * w.grad)",
    "net = copy.deepcopy(best)",
    "opt = torch.optim.SGD(net.parameters(), lr=0.1)",
    "penalty = functools.partial(f, g(w), strength=1e-2,)",
    "carry.map(torch.Tensor.detach)",
    "self.states.clear",
    "self.prior = Normal(self.mean, self.log.exp())",
    "update(net(x), limit=3)",
    "global_step: int = global_step + 1",
)
_HEADS = (
    "for x in data:",
    "for epoch, (x, y) in enumerate(loader):",
    "while step < 10:",
    "if step % 2 == 0:",
    "with torch.no_grad():",
    "with torch.no_grad(), open(path) as file:",
    "with parametrize.cached():",
    "def __init__(self):",
    "def update(self, loss, limit=1):",
    "for key, loss in losses.items():",
    "with torch.autocast(\n{more}'cuda'\n{less}):",
    "try:",
    "def closure():",
    "@torch.no_grad()\n{here}def evaluate(x, *, y=None):",
    "@functools.lru_cache(maxsize=None)\n{here}def table(self, /, n, *args, **kwargs):",
    "class Net(torch.nn.Module):",
    "async def act():",
    "match kind:",
)


class Writer:
    """Writes one program with one person's habits: how to indent, how to end lines, how to comment."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.indent = chance.choice(["    ", "    ", "  ", "\t", " "])

    def program(self) -> str:
        lines = ["import torch", *self._block(0, self.chance.randint(3, 9))]
        if self.chance.random() < 0.3:
            lines.insert(0, '"""A program.\n\n    with a docstring\n"""')
        text = "\n".join(lines) + self.chance.choice(
            ["\n", "\n", "\n\n", "", "  # the end", "\n    # the end\n", "\n\f\n"]
        )
        end = self.chance.choice(["\n", "\n", "\n", "\r\n", "\r"])
        return text.replace("\n", end)

    def _block(self, depth: int, count: int) -> Iterator[str]:
        for _ in range(count):
            if self.chance.random() < 0.12:
                yield self.chance.choice(["", self.indent * depth + "# a comment", "# far out", "   "])
            if depth < 4 and self.chance.random() < 0.32:
                yield from self._compound(depth)
            else:
                yield self._line(depth)
            if self.chance.random() < 0.1:  # several losses, used in the same way
                model = self.chance.choice(
                    ("{}.backward()", "scaler.scale({}).backward()", "({} * 2).mean().backward()")
                )
                for loss in self.chance.sample(("loss_a", "loss_b", "losses['g']", "(a + b)"), 2):
                    yield self.indent * depth + model.format(loss)

    def _line(self, depth: int) -> str:
        text = self._filled(self._simple(), depth)
        if self.chance.random() < 0.08 and "\n" not in text:
            text += self.chance.choice(["; ", " ;", ";"]) + self._filled(
                self.chance.choice(("opt.step()", "x = 1")), depth
            )
        if self.chance.random() < 0.15 and not text.endswith("\\"):
            text += self.chance.choice(["  # why", "# loss.backward()", " ", "\t"])
        return self.indent * depth + text

    def _simple(self) -> str:
        kind = self.chance.random()
        if kind < 0.35:
            return self.chance.choice(_PASSES)
        if kind < 0.65:
            return self.chance.choice(_OTHERS)
        targets = " = ".join(
            self.chance.choice((*_NAMES, "a, b", "loss_a", "loss_b")) for _ in range(self.chance.choice([1, 1, 1, 2]))
        )
        return f"{targets} = {self.chance.choice(_VALUES)}".replace("{{", "{{")

    def _compound(self, depth: int) -> Iterator[str]:
        head = self.chance.choice(_HEADS)
        here = self.indent * depth
        if head.startswith("match"):
            yield f"{here}match kind:"
            for case in ("case 1:", "case [a, *_]:", "case _:"):
                yield self.indent * (depth + 1) + case
                yield from self._body(depth + 2)
            return
        filled = self._filled(head, depth)
        if (
            head.endswith(":")
            and "\n" not in head
            and not head.startswith(("try", "class"))
            and self.chance.random() < 0.15
        ):
            yield f"{here}{filled} {self.chance.choice(['loss.backward()', 'opt.step(); x = 1', 'pass'])}"
        else:
            yield here + filled + self.chance.choice(["", "", "  # so"])
            if head.startswith("class") or self.chance.random() < 0.1:
                yield self.indent * (depth + 1) + '"""What it is for."""'
            yield from self._body(depth + 1)
        yield from self._rest(head, depth)

    def _rest(self, head: str, depth: int) -> Iterator[str]:
        here = self.indent * depth
        if head.startswith("try"):
            yield f"{here}except (RuntimeError, ValueError) as error:"
            yield from self._body(depth + 1)
        elif head.startswith(("if", "for", "while")) and self.chance.random() < 0.3:
            if head.startswith("if"):
                yield f"{here}elif flag:"
                yield from self._body(depth + 1)
            yield f"{here}else:"
            yield from self._body(depth + 1)

    def _body(self, depth: int) -> Iterator[str]:
        yield from self._block(depth, self.chance.randint(0, 4))
        yield self._line(depth)

    def _filled(self, text: str, depth: int) -> str:
        here = self.indent * depth
        return text.format(here=here, more=here + self.indent, less=here)


def program(number: int) -> str:
    """The program of a number."""
    return Writer(random.Random(number)).program()
