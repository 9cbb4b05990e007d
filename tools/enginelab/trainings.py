"""Faulty training programs as people write them, put together at random.

A program is a model, what is carried, a loss, passes, an optimizer, a loop, a place for all of it (a script, a function,
a class, helpers), habits, and a fault of one of the kinds people report. Each choice is made apart from the others.
"""

# ruff: noqa: E501  a line of a program is one line here

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass, field

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
OPTIMIZERS = ("torch.optim.SGD({}, lr=0.05)", "torch.optim.Adam({}, lr=1e-2)", "torch.optim.AdamW({}, lr=1e-2)",
              "torch.optim.SGD({}, lr=0.05, momentum=0.9)", "torch.optim.RMSprop({}, lr=1e-2)")  # fmt: skip
LOSSES = ("F.mse_loss({out}, {target})", "({out} - {target}).pow(2).mean()", "F.l1_loss({out}, {target})",
          "F.smooth_l1_loss({out}, {target})", "(({out} - {target}) ** 2).sum()", "nn.MSELoss()({out}, {target})",
          "((({out} - {target}) / 2).abs() + 1e-3).log().mean()")  # fmt: skip
ACTIVATIONS = ("Tanh", "ReLU", "Sigmoid", "GELU", "ELU")
LOOPS = ("for step in range({n}):", "for epoch in range({n}):", "for i, x in enumerate(data):", "for x in data:",
         "for x, y in zip(data, targets):", "for x, y in loader:", "step = 0\nwhile step < {n}:",
         "for epoch in range(2):\n    for x in data:", "for _ in range({n}):")  # fmt: skip
NAMES = {
    "net": ("net", "model", "policy", "self_net", "m"),
    "opt": ("opt", "optimizer", "optim", "trainer_opt"),
    "h": ("hidden", "h", "state", "memory", "context", "prev"),
    "loss": ("loss", "total", "objective", "l", "err"),
    "feat": ("features", "z", "emb", "latent", "rep"),
}


@dataclass
class Parts:
    """What a program consists of; a block is lines without indentation."""

    classes: list[str] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)  # names that the setup makes and the body binds again


class Writer:
    """Writes one program."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names = {key: chance.choice(names) for key, names in NAMES.items()}
        self.n = chance.choice((2, 3, 4, 5))
        self.parts = Parts()
        self.loop = chance.choice(LOOPS).format(n=self.n)

    def maybe(self, share: float) -> bool:
        return self.chance.random() < share

    def one(self, *options: str) -> str:
        return self.fill(self.chance.choice(options))

    def fill(self, text: str) -> str:
        for key, name in self.names.items():
            text = text.replace(f"<{key}>", name)
        return text

    def program(self) -> str:
        chance, parts = self.chance, self.parts
        parts.setup.append(f"torch.manual_seed({chance.randrange(100)})")
        self.data()
        fault = chance.choice((self.carried, self.carried, self.module_state, self.accumulated, self.twice, self.shared,
                               self.outside, self.outside, self.adversarial, self.cached, self.two_updates, self.written,
                               self.retained_state, self.helper_losses, self.averages, self.derivatives))  # fmt: skip
        fault()
        return self.laid_out()

    # Data, models, optimizers

    def data(self) -> None:
        self.parts.setup += [f"data = torch.randn({self.n}, 3, 4)"]
        if "targets" in self.loop or "loader" in self.loop or self.maybe(0.2):
            self.parts.setup.append(f"targets = torch.randn({self.n}, 3, 2)")
        if "loader" in self.loop:
            self.parts.setup += [
                "dataset = torch.utils.data.TensorDataset(data.flatten(0, 1), targets.flatten(0, 1))",
                "loader = torch.utils.data.DataLoader(dataset, batch_size=3)",
            ]

    def inputs(self) -> list[str]:
        """The lines that give `x`, where the loop does not."""
        if " x in" in self.loop or "x, y in" in self.loop or "for x" in self.loop:
            return []
        return [self.one("x = torch.randn(3, 4)", "x = torch.rand(3, 4)", "x = data[0]", "x = torch.ones(3, 4) * 0.3")]

    def target(self) -> str:
        if "x, y in" in self.loop:
            return "y"
        return self.one("torch.zeros(3, 2)", "torch.ones(3, 2)", "x[:, :2]", "x[:, 2:]")

    def loss(self, out: str, target: str | None = None) -> str:
        return self.one(*LOSSES).format(out=out, target=target or self.target())

    def net(self, name: str, n_in: int, n_out: int) -> list[str]:
        """A network in one of several forms."""
        act = self.chance.choice(ACTIVATIONS)
        form = self.chance.randrange(5)
        if form == 0:
            return [f"{name} = nn.Linear({n_in}, {n_out})"]
        if form == 1:
            return [f"{name} = nn.Sequential(nn.Linear({n_in}, 5), nn.{act}(), nn.Linear(5, {n_out}))"]
        if form == 2:
            norm = self.chance.choice(("LayerNorm(5)", "Dropout(0.1)", "Identity()"))
            return [f"{name} = nn.Sequential(nn.Linear({n_in}, 5), nn.{norm}, nn.{act}(), nn.Linear(5, {n_out}))"]
        kind = f"Net{len(self.parts.classes)}"
        function = self.chance.choice(("torch.tanh", "F.relu", "torch.sigmoid", "F.gelu", "F.softplus"))
        lines = [f"class {kind}(nn.Module):", "    def __init__(self, width=5):", "        super().__init__()"]
        if form == 3:
            lines += [
                f"        self.first = nn.Linear({n_in}, width)",
                f"        self.second = nn.Linear(width, {n_out})",
                "",
                "    def forward(self, x):",
                f"        return self.second({function}(self.first(x)))",
            ]
        else:
            lines += [
                f"        self.layers = nn.ModuleList([nn.Linear({n_in}, width), nn.Linear(width, width)])",
                f"        self.out = nn.Linear(width, {n_out})",
                f"        self.scale = nn.Parameter(torch.ones({n_out}))",
                "",
                "    def forward(self, x):",
                "        for layer in self.layers:",
                f"            x = {function}(layer(x))",
                "        return self.out(x) * self.scale",
            ]
        self.parts.classes.append("\n".join(lines))
        return [f"{name} = {kind}()"]

    def optimizer(self, name: str, *nets: str) -> list[str]:
        wanted = f"{nets[0]}.parameters()" if len(nets) == 1 else f"[{', '.join(f'*{n}.parameters()' for n in nets)}]"
        if len(nets) > 1 and self.maybe(0.3):
            wanted = " + ".join(f"list({n}.parameters())" for n in nets)
        return [f"{name} = {self.chance.choice(OPTIMIZERS).format(wanted)}"]

    # Steps

    def update(self, loss: str, opt: str, net: str = "", retain: bool = False) -> list[str]:
        """A pass and an update, with one of the usual orders and some of the usual habits."""
        flag = "retain_graph=True" if retain else ""
        backward = f"{loss}.backward({flag})"
        if self.maybe(0.06):
            backward = f"torch.autograd.backward({loss}{', ' + flag if flag else ''})"
        clear = self.chance.choice((f"{opt}.zero_grad()",) * 3 + (f"{opt}.zero_grad(set_to_none=False)",))
        if net and self.maybe(0.15):
            clear = f"{net}.zero_grad()"
        clip = [f"nn.utils.clip_grad_norm_({net}.parameters(), 1.0)"] if net and self.maybe(0.25) else []
        order = self.chance.randrange(3)
        if order == 2:
            return [backward, *clip, f"{opt}.step()", clear]
        return [clear, backward, *clip, f"{opt}.step()"]

    def logging(self, loss: str) -> list[str]:
        kind = self.chance.randrange(6)
        if kind == 0:
            self.parts.setup.append("history = []")
            return [f"history.append({loss}.item())"]
        if kind == 1:
            self.parts.setup.append("running = 0.0")
            self.parts.shared.append("running")
            return [f"running += {loss}.item()"]
        return [f"print({loss}.item())"] if kind == 2 else []

    def finish(self, *lines: str) -> None:
        self.parts.body += [self.fill(line) for line in lines]

    # Faults

    def carried(self) -> None:
        """A state that goes from step to step with its graph."""
        h, net, opt, loss = (self.names[k] for k in ("h", "net", "opt", "loss"))
        cell = self.chance.choice(("RNNCell", "GRUCell", "LSTMCell", "RNN", "LSTM", "plain", "Linear"))
        self.parts.setup += self.net("head", 4, 2)
        holder = self.chance.choice(("local", "local", "dict", "list", "tuple", "object"))
        before: list[str] = []
        if cell in ("LSTMCell", "LSTM"):
            first = "(torch.zeros(3, 4), torch.zeros(3, 4))"
            first = first.replace("torch.zeros(3", "torch.zeros(1, 3") if cell == "LSTM" else first
            self.parts.setup.append(f"{net} = nn.{cell}(4, 4)")
            call = (
                f"out, {{h}} = {net}(x.unsqueeze(0), {{h}})"
                if cell == "LSTM"
                else f"{{h}} = {net}(x, {{h}})\nout = {{h}}[0]"
            )
            out = "head(out.squeeze(0))" if cell == "LSTM" else "head(out)"
        elif cell == "RNN":
            first = "torch.zeros(1, 3, 4)"
            self.parts.setup.append(f"{net} = nn.RNN(4, 4)")
            call, out = f"out, {{h}} = {net}(x.unsqueeze(0), {{h}})", "head(out[0])"
        elif cell == "plain":
            first = "torch.zeros(3, 4)"
            self.parts.setup.append(f"{net} = nn.Linear(8, 4)")
            act = self.chance.choice(("torch.tanh", "torch.sigmoid", "F.relu"))
            call, out = f"{{h}} = {act}({net}(torch.cat([x, {{h}}], dim=1)))", "head({h})"
        elif cell == "Linear":
            first = "torch.zeros(3, 4)"
            self.parts.setup.append(f"{net} = nn.Linear(4, 4)")
            call, out = f"{{h}} = 0.9 * {{h}} + torch.tanh({net}(x))", "head({h})"
        else:
            first = "torch.zeros(3, 4)"
            self.parts.setup.append(f"{net} = nn.{cell}(4, 4)")
            call, out = f"{{h}} = {net}(x, {{h}})", "head({h})"
        if holder == "dict":
            self.parts.setup.append(f'{h} = {{"last": {first}}}')
            held = f'{h}["last"]'
        elif holder == "list":
            self.parts.setup.append(f"{h} = [{first}]")
            held = f"{h}[-1]"
        elif holder == "object":
            self.parts.classes.append("class Holder:\n    value = None")
            self.parts.setup += [f"{h} = Holder()", f"{h}.value = {first}"]
            held = f"{h}.value"
        else:
            start = self.chance.choice((first, "None")) if "cat" not in call and "0.9" not in call else first
            self.parts.setup.append(f"{h} = {start}")
            self.parts.shared.append(h)
            held = h
        call, out = call.format(h=held), out.format(h=held)
        if holder == "list":
            call = call.replace(f"out, {h}[-1] =", "out, new =").replace(f"{h}[-1] =", "new =")
            call += f"\n{h}.append(new)"
            call = call.replace(f"out = {h}[-1][0]\n{h}.append(new)", f"{h}.append(new)\nout = new[0]")
        if self.maybe(0.2) and "\n" not in call and holder == "local":
            call = f"for t in range(2):\n    {call}"
        self.parts.setup += self.optimizer(opt, net, "head")
        self.finish(
            *before, *self.inputs(), *call.split("\n"), f"{loss} = {self.loss(out)}", *self.update(loss, opt, net)
        )
        self.finish(*self.logging(loss))

    def module_state(self) -> None:
        """A module that keeps what it computed and uses it in the next call."""
        net, opt, loss = (self.names[k] for k in ("net", "opt", "loss"))
        attribute = self.chance.choice(("hidden", "cache", "prev", "state", "memory"))
        style = self.chance.randrange(5)
        init = {
            0: f"self.{attribute} = torch.zeros(1, 4)",
            1: f'self.register_buffer("{attribute}", torch.zeros(1, 4))',
            2: f"self.{attribute} = None",
            3: f"self.{attribute} = []",
            4: f"self.{attribute} = {{}}",
        }[style]
        use = {
            0: [f"out = torch.tanh(self.layer(x) + self.{attribute})", f"self.{attribute} = out.mean(0, keepdim=True)"],
            1: [f"self.{attribute} = 0.5 * self.{attribute} + self.layer(x).mean(0, keepdim=True)", f"out = x * self.{attribute}"],
            2: ["out = self.layer(x)", f"if self.{attribute} is not None:", f"    out = out + torch.sigmoid(self.{attribute})",
                f"self.{attribute} = out"],
            3: ["out = self.layer(x)", f"self.{attribute}.append(out)", f"out = torch.stack(self.{attribute}).tanh().mean(0)"],
            4: [f'if "k" not in self.{attribute}:', f'    self.{attribute}["k"] = self.layer(torch.ones(1, 4))',
                f'out = x * self.{attribute}["k"]'],
        }[style]  # fmt: skip
        lines = ["class Cell(nn.Module):", "    def __init__(self):", "        super().__init__()",
                 "        self.layer = nn.Linear(4, 4)", "        self.head = nn.Linear(4, 2)", f"        {init}", "",
                 "    def forward(self, x):", *(f"        {line}" for line in use), "        return self.head(out)"]  # fmt: skip
        self.parts.classes.append("\n".join(lines))
        if self.maybe(0.3):
            wrap = "class Wrapper(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.cell = Cell()\n\n"
            self.parts.classes.append(wrap + "    def forward(self, x):\n        return self.cell(x)")
            self.parts.setup.append(f"{net} = Wrapper()")
        else:
            self.parts.setup.append(f"{net} = Cell()")
        self.parts.setup += self.optimizer(opt, net)
        self.finish(*self.inputs(), f"out = {net}(x)", f"{loss} = {self.loss('out')}", *self.update(loss, opt, net))
        self.finish(*self.logging(loss))

    def accumulated(self) -> None:
        """A sum of losses that goes on from step to step."""
        net, opt = self.names["net"], self.names["opt"]
        self.parts.setup += [*self.net(net, 4, 2), *self.optimizer(opt, net)]
        style = self.chance.randrange(3)
        self.finish(*self.inputs(), f"loss = {self.loss(f'{net}(x)')}")
        if style == 0:
            self.parts.setup.append("total = 0")
            self.parts.shared.append("total")
            self.finish(self.one("total = total + loss", "total += loss"), *self.update("total", opt, net))
        elif style == 1:
            self.parts.setup.append("losses = []")
            self.finish("losses.append(loss)", self.one("whole = sum(losses)", "whole = torch.stack(losses).mean()"))
            self.finish(*self.update("whole", opt, net))
        else:
            self.parts.setup.append('stats = {"loss": 0.0}')
            self.finish('stats["loss"] = stats["loss"] + loss', *self.update('stats["loss"]', opt, net))
        self.finish(*self.logging("loss"))

    def twice(self) -> None:
        """`backward()` called again on one loss."""
        net, opt, loss = (self.names[k] for k in ("net", "opt", "loss"))
        self.parts.setup += [*self.net(net, 4, 2), *self.optimizer(opt, net)]
        again = self.one(f"{loss}.backward()", f"({loss} * 2).backward()", f"({loss} + {loss} ** 2).backward()",
                         f"torch.autograd.grad({loss}, list({net}.parameters()))")  # fmt: skip
        first = self.update(loss, opt, net)
        place = self.chance.choice((len(first), first.index(next(one for one in first if "backward" in one)) + 1))
        guard = "step" in self.loop and "while" not in self.loop and self.maybe(0.3)
        if guard:
            again = f"if step % 2 == 1:\n    {again}"
        self.finish(
            *self.inputs(), f"{loss} = {self.loss(f'{net}(x)')}", *first[:place], *again.split("\n"), *first[place:]
        )

    def shared(self) -> None:
        """Several losses of one forward pass, each with its own backward."""
        opt, feat = self.names["opt"], self.names["feat"]
        self.parts.setup += [*self.net("encoder", 4, 4), *self.net("left", 4, 2), *self.net("right", 4, 2)]
        self.parts.setup += self.optimizer(opt, "encoder", "left", "right")
        made = self.one(
            f"{feat} = encoder(x)", f"{feat} = torch.tanh(encoder(x))", f"{feat} = F.normalize(encoder(x), dim=1)"
        )
        a, b = self.loss(f"left({feat})"), self.loss(f"right({feat})")
        retain = "retain_graph=True" if self.maybe(0.15) else ""
        lines = [*self.inputs(), made, f"loss_a = {a}", f"loss_b = {b}", f"{opt}.zero_grad()"]
        if self.maybe(0.3):
            lines = [*self.inputs(), made, f'losses = {{"a": {a}, "b": {b}}}', f"{opt}.zero_grad()"]
            lines += ["for name, loss in losses.items():", f"    loss.backward({retain})", f"{opt}.step()"]
        elif self.maybe(0.4):
            lines += ["for loss in (loss_a, loss_b):", f"    loss.backward({retain})", f"{opt}.step()"]
        else:
            between = self.chance.choice(
                ([], [f"{opt}.step()"], [f"{opt}.step()", f"{opt}.zero_grad()"], [f"{opt}.zero_grad()"])
            )
            lines += [f"loss_a.backward({retain})", *between, "loss_b.backward()", f"{opt}.step()"]
        self.finish(*lines)

    def outside(self) -> None:
        """Something computed once, before the loop, and used in every step."""
        net, opt, loss, feat = (self.names[k] for k in ("net", "opt", "loss", "feat"))
        self.parts.setup += [*self.net(net, 4, 4), *self.net("head", 4, 2)]
        self.parts.setup += self.optimizer(opt, net, "head")
        kind = self.chance.randrange(6)
        made = {
            0: f"{feat} = {net}(data[0])",
            1: f"{feat} = sum(p.pow(2).sum() for p in {net}.parameters())",
            2: f"{feat} = torch.softmax({net}(torch.eye(4)), dim=1)",
            3: f"table = nn.Parameter(torch.randn(3, 4))\n{feat} = table * table.norm()",
            4: f"{feat} = [{net}(x) for x in data]",
            5: f"with torch.enable_grad():\n    {feat} = torch.exp({net}(data[0]))",
        }[kind]
        self.parts.setup += made.split("\n")
        out = {
            0: f"head({feat})", 1: f"head({net}(x))", 2: f"head({net}(x) @ {feat})", 3: f"head({net}(x) + {feat})",
            4: f"head({feat}[0])", 5: f"head(x * {feat})",
        }[kind]  # fmt: skip
        more = f" + 0.01 * {feat}" if kind == 1 else ""
        self.finish(*self.inputs(), f"{loss} = {self.loss(out)}{more}", *self.update(loss, opt, net))
        self.finish(*self.logging(loss))

    def adversarial(self) -> None:
        """Two networks, one of which is fed by the other."""
        self.parts.setup += [*self.net("gen", 4, 4), *self.net("disc", 4, 1)]
        self.parts.setup += [*self.optimizer("opt_g", "gen"), *self.optimizer("opt_d", "disc")]
        judge = self.one("F.softplus(-disc({v})).mean()", "(disc({v}) - 1).pow(2).mean()", "-disc({v}).mean()",
                         "F.binary_cross_entropy_with_logits(disc({v}), torch.ones(3, 1))")  # fmt: skip
        real, fake = judge.format(v="x"), self.one("F.softplus(disc(fake)).mean()", "disc(fake).pow(2).mean()")
        lines = [
            *self.inputs(),
            self.one("fake = gen(torch.randn(3, 4))", "fake = torch.tanh(gen(x))", "fake = gen(x) + x"),
        ]
        d = [f"loss_d = {real} + {fake}", "opt_d.zero_grad()", "loss_d.backward()", "opt_d.step()"]
        again = judge.format(v="fake")
        g = [f"loss_g = {again}", "opt_g.zero_grad()", "loss_g.backward()", "opt_g.step()"]
        kind = self.chance.randrange(4)
        if kind == 0:
            lines += [*d, *g]
        elif kind == 1:
            lines += [
                "scores = disc(fake)",
                "loss_d = scores.pow(2).mean()",
                "loss_g = (scores - 1).pow(2).mean()",
                *d[1:],
                *g[1:],
            ]
        elif kind == 2:
            lines += [d[0], g[0], "opt_d.zero_grad()", "opt_g.zero_grad()", "loss_d.backward()", "opt_d.step()",
                      "loss_g.backward()", "opt_g.step()"]  # fmt: skip
        else:
            lines += [*g, *d]
        self.finish(*lines)

    def cached(self) -> None:
        """A cache, a bank, a baseline that keeps values with their graphs."""
        net, opt, loss = (self.names[k] for k in ("net", "opt", "loss"))
        self.parts.setup += [*self.net(net, 4, 2), *self.optimizer(opt, net)]
        kind = self.chance.randrange(5)
        lines = [*self.inputs(), f"out = {net}(x)"]
        if kind == 0:
            self.parts.setup.append("bank = []")
            lines += [f"{loss} = {self.loss('out')}", "for old in bank:", f"    {loss} = {loss} + 0.1 * (out * old.sigmoid()).mean()",
                      "bank.append(out)"]  # fmt: skip
        elif kind == 1:
            self.parts.setup.append("baseline = torch.zeros(2)")
            self.parts.shared.append("baseline")
            lines += [f"{loss} = ((out - baseline) ** 2).mean()", "baseline = 0.9 * baseline + 0.1 * out.mean(0)"]
        elif kind == 2:
            self.parts.setup.append("cache = {}")
            lines = [
                *self.inputs(),
                "if 'out' not in cache:",
                f"    cache['out'] = {net}(x)",
                f"{loss} = {self.loss('cache[`out`]')}",
            ]
            lines = [line.replace("`", "'") for line in lines]
        elif kind == 3:
            self.parts.setup += ["from collections import deque", "recent = deque(maxlen=2)"]
            lines += ["recent.append(out)", f"{loss} = {self.loss('torch.stack(tuple(recent)).mean(0).tanh()')}"]
        else:
            self.parts.setup.append("previous = None")
            self.parts.shared.append("previous")
            lines += [f"{loss} = {self.loss('out')}", "if previous is not None:",
                      f"    {loss} = {loss} + F.mse_loss(out, previous)", "previous = out"]  # fmt: skip
        self.finish(*lines, *self.update(loss, opt, net), *self.logging(loss))

    def two_updates(self) -> None:
        """A parameter changes between the forward pass and a backward that needs it."""
        feat = self.names["feat"]
        self.parts.setup += [*self.net("encoder", 4, 4), *self.net("head", 4, 2)]
        self.parts.setup += [*self.optimizer("opt_e", "encoder"), *self.optimizer("opt_h", "head")]
        a, b = (
            self.loss(f"head({feat})"),
            self.one(f"{feat}.pow(2).mean()", f"head({feat}).abs().mean()", f"-head({feat}).tanh().sum()"),
        )
        lines = [*self.inputs(), f"{feat} = encoder(x)", f"loss_a = {a}", f"loss_b = {b}"]
        retain = self.one("retain_graph=True", "retain_graph=True", "")
        lines += [
            "opt_h.zero_grad()",
            f"loss_a.backward({retain})",
            "opt_h.step()",
            "opt_e.zero_grad()",
            "loss_b.backward()",
            "opt_e.step()",
        ]
        self.finish(*lines)

    def written(self) -> None:
        """A value that the graph saved is overwritten."""
        net, opt, loss = (self.names[k] for k in ("net", "opt", "loss"))
        self.parts.setup += [*self.net(net, 4, 4), *self.net("head", 4, 2)]
        self.parts.setup += self.optimizer(opt, net, "head")
        act = self.one("torch.sigmoid", "torch.tanh", "torch.exp", "F.relu", "F.softplus")
        write = self.one("h += x", "h.add_(1.0)", "h *= 2", "h[:, 0] = 0", "h.relu_()", "h.mul_(x)", "h[0] += 1.0", "h.clamp_(-0.1, 0.1)",
                         "h.copy_(x)", "h.div_(h.norm())", "F.relu(h, inplace=True)")  # fmt: skip
        lines = [*self.inputs(), f"h = {act}({net}(x))"]
        out = "head(h)"
        if self.maybe(0.4):
            lines += [f"out = {out}", write, f"{loss} = {self.loss('out')}"]
        else:
            lines += ["k = h * h" if self.maybe(0.5) else "k = h.pow(2)", write, f"{loss} = {self.loss('head(h + k)')}"]
        self.finish(*lines, *self.update(loss, opt, net), *self.logging(loss))

    def retained_state(self) -> None:
        """The usual second act: `retain_graph=True` on a carried state, and the in-place error it leads to."""
        self.carried()
        self.parts.body = [line.replace(".backward()", ".backward(retain_graph=True)") for line in self.parts.body]

    def helper_losses(self) -> None:
        """Losses that come out of a helper: a tuple, a dict, a method."""
        net, opt = self.names["net"], self.names["opt"]
        self.parts.setup += self.net(net, 4, 2)
        kind = self.chance.randrange(3)
        if kind == 0:
            self.parts.classes.append(
                "def losses_of(out, target):\n    fit = F.mse_loss(out, target)\n    return fit, fit + 0.1 * out.pow(2).mean()"
            )
            made = [f"fit, total = losses_of({net}(x), {self.target()})", "{z}", "fit.backward()", "total.backward()"]
        elif kind == 1:
            self.parts.classes.append(
                "def losses_of(out, target):\n    diff = out - target\n"
                '    return {"l1": diff.abs().mean(), "l2": diff.pow(2).mean()}'
            )
            made = [
                f"found = losses_of({net}(x), {self.target()})",
                "{z}",
                'found["l2"].backward()',
                'found["l1"].backward()',
            ]
        else:
            self.parts.classes.append(
                "class Criterion(nn.Module):\n    def forward(self, out, target):\n"
                "        weight = torch.softmax(out, dim=1)\n"
                "        return (weight * (out - target) ** 2).sum(), -(weight * weight.log()).sum()"
            )
            self.parts.setup.append("criterion = Criterion()")
            made = [
                f"fit, entropy = criterion({net}(x), {self.target()})",
                "{z}",
                "fit.backward()",
                "(0.1 * entropy).backward()",
            ]
        self.parts.setup += self.optimizer(opt, net)
        self.finish(*self.inputs(), *(line.replace("{z}", f"{opt}.zero_grad()") for line in made), f"{opt}.step()")

    def averages(self) -> None:
        """Averages of weights or outputs that are computed with their graph."""
        net, opt, loss = (self.names[k] for k in ("net", "opt", "loss"))
        self.parts.setup += [f"{net} = nn.Linear(4, 2)", *self.optimizer(opt, net)]
        kind = self.chance.randrange(3)
        if kind == 0:
            self.parts.setup.append(f"average = {net}.weight.clone()")
            self.parts.shared.append("average")
            lines = [f"average = 0.9 * average + 0.1 * {net}.weight", f"{loss} = {self.loss('F.linear(x, average)')}"]
        elif kind == 1:
            self.parts.setup.append(f"anchor = [p.clone() for p in {net}.parameters()]")
            lines = [f"{loss} = {self.loss(f'{net}(x)')}", f"for p, old in zip({net}.parameters(), anchor):",
                     f"    {loss} = {loss} + 0.1 * (p - old.exp()).pow(2).sum()"]  # fmt: skip
        else:
            self.parts.setup += ["log_scale = torch.zeros(2, requires_grad=True)", "scale = log_scale.exp()"]
            lines = [f"{loss} = {self.loss(f'{net}(x) * scale')}"]
        self.finish(*self.inputs(), *lines, *self.update(loss, opt, net))

    def derivatives(self) -> None:
        """`autograd.grad` within a step."""
        net, opt, loss = (self.names[k] for k in ("net", "opt", "loss"))
        self.parts.setup += [*self.net(net, 4, 1), *self.optimizer(opt, net)]
        first = ["x.requires_grad_(True)", f"energy = {net}(x).tanh().sum()"]
        create = self.one("", "", ", create_graph=True", ", retain_graph=True")
        lines = ["x = x.clone()", *first, f"forces = -torch.autograd.grad(energy, x{create})[0]"]
        lines += self.one(f"{loss} = forces.pow(2).mean() + energy", f"{loss} = (energy - 1).pow(2) + forces.abs().sum()",
                          f"{loss} = (energy - forces.sum()).abs()").split("\n")  # fmt: skip
        self.finish(*self.inputs(), *lines, *self.update(loss, opt, net))
        if self.maybe(0.5):
            self.finish(f"hessian = torch.autograd.grad(energy, x{create})")

    # Where it all stands

    def laid_out(self) -> str:
        parts = self.parts
        body = textwrap.indent("\n".join(parts.body), "    ")
        if "while" in self.loop:
            body += "\n    step += 1"
        rest = self.loop.split("\n")[1:]
        loop = f"{self.loop}\n" + (textwrap.indent(body, "    ") if rest and rest[0].startswith(" ") else body)
        classes = "".join(f"\n\n{one}\n" for one in parts.classes)
        imports = "".join(f"{line}\n" for line in parts.setup if line.startswith("from "))
        setup = "\n".join(line for line in parts.setup if not line.startswith("from "))
        kind = self.chance.randrange(4)
        if kind == 0:
            return f"{HEAD}{imports}{classes}\n\n{setup}\n\n{loop}\n"
        if kind == 1:
            inner = textwrap.indent(f"{setup}\n{loop}", "    ")
            return f'{HEAD}{imports}{classes}\n\ndef main():\n{inner}\n\n\nif __name__ == "__main__":\n    main()\n'
        if kind == 2:
            return f"{HEAD}{imports}{classes}\n\n{setup}\n\n\ndef train():\n{self.globals()}{textwrap.indent(loop, '    ')}\n\n\ntrain()\n"
        given = "x, y" if "x, y in" in self.loop else "x" if "for" in self.loop and " x in" in self.loop else ""
        step = f"def train_step({given}):\n{self.globals()}" + textwrap.indent("\n".join(parts.body), "    ")
        call = f"    train_step({given})" + ("\n    step += 1" if "while" in self.loop else "")
        call = textwrap.indent(call, "    ") if rest and rest[0].startswith(" ") else call
        return f"{HEAD}{imports}{classes}\n\n{setup}\n\n\n{step}\n\n\n{self.loop}\n{call}\n"

    def globals(self) -> str:
        return f"    global {', '.join(self.parts.shared)}\n" if self.parts.shared else ""


def program(seed: str) -> str:
    """The program of a seed."""
    return Writer(random.Random(seed)).program()
