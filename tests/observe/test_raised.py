"""The other errors of autograd, as people meet them: the line, the tensor by its name, where it came from."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest
from tests.watching import watch_source

from afterward import messages
from afterward.render.wording import said

torch = pytest.importorskip("torch")

# name: (program, code, line that raises, the tensor's name, line where it was made or stored)
PROGRAMS: dict[str, tuple[str, str, int, str | None, int | None]] = {
    "a list of losses fills the memory": (
        """
        layer, losses = torch.nn.Linear(3, 1), []
        def train():
            for step in range(20):
                loss = layer(torch.ones(4, 3)).pow(2).sum()
                loss.backward()
                losses.append(loss)
        train()
        torch.empty(1 << 45)
        """, "AFT512", 9, "losses", None),
    "the batch is too large, and no graph is kept": (
        """
        layer = torch.nn.Linear(3, 1)
        for step in range(12):
            layer.zero_grad()
            layer(torch.ones(4, 3)).pow(2).sum().backward()
        layer(torch.ones(1 << 45, 3))
        """, "AFT512", 6, None, None),
    "manual update in a class": (
        """
        class Fit:
            def __init__(self):
                self.w = torch.ones(3, requires_grad=True)
            def step(self):
                (self.w ** 2).sum().backward()
                self.w -= 0.1 * self.w.grad
        fit = Fit()
        fit.step()
        """, "AFT501", 7, "self.w", 4),
    "a row of an embedding is set": (
        """
        embedding = torch.nn.Embedding(5, 3)
        embedding.weight[0] = torch.zeros(3)
        """, "AFT501", 3, "embedding.weight", None),
    "initialised through a method in place": (
        """
        layer = torch.nn.Linear(3, 2)
        layer.bias.fill_(0.5)
        """, "AFT501", 3, "layer.bias", None),
    "style transfer on another dtype": (
        """
        def make_image():
            return torch.rand(1, 3, 4, 4, requires_grad=True)
        image = make_image().double()
        optimizer = torch.optim.Adam([image], lr=0.1)
        """, "AFT502", 5, "image", 4),
    "a list of computed weights": (
        """
        weights = [torch.randn(2, requires_grad=True) * 0.1 for _ in range(2)]
        optimizer = torch.optim.SGD(weights, lr=0.1)
        """, "AFT502", 3, "weights[0]", None),
    "the update makes a new tensor": (
        """
        w = torch.ones(3, requires_grad=True)
        for step in range(3):
            loss = (w ** 2).sum()
            loss.backward()
            w = w - 0.1 * w.grad
        """, "AFT502", 6, "w", 6),
    "gradients are clamped of a layer that is not used": (
        """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.spare = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
            def forward(self, x):
                return self.body(x)
        net = Net()
        net(torch.ones(2, 3)).sum().backward()
        for parameter in net.parameters():
            parameter.grad.data.clamp_(-1, 1)
        """, "AFT506", 11, "net.spare.weight", None),
    "a norm of gradients that were cleared": (
        """
        layer = torch.nn.Linear(3, 3)
        layer(torch.ones(2, 3)).sum().backward()
        layer.zero_grad()
        norm = sum(p.grad.data.norm() for p in layer.parameters())
        """, "AFT506", 5, "layer.weight", None),
    "a scaler steps an optimizer whose loss has no graph": (
        """
        critic, scaler = torch.nn.Linear(3, 1), torch.amp.GradScaler("cpu")
        optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        with torch.no_grad():
            loss = critic(torch.ones(4, 3)).mean()
        scaler.scale(torch.nn.Linear(3, 1)(torch.ones(4, 3)).mean()).backward()
        if loss.requires_grad:
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        """, "AFT515", 9, "optimizer", None),
    "the earlier of two square roots is at zero": (
        """
        layer, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
        torch.autograd.set_detect_anomaly(True)
        near = (layer(x) - layer(x)).pow(2).sum(1).sqrt()
        far = (layer(x) - 7).pow(2).sum(1).sqrt()
        loss = (near - far).relu().mean()
        loss.backward()
        """, "AFT510", 7, None, 4),
    "freezing an output": (
        """
        encoder = torch.nn.Linear(3, 2)
        features = encoder(torch.ones(4, 3))
        features.requires_grad = False
        """, "AFT502", 4, "features", 3),
    "a computed tensor replaces a weight": (
        """
        model = torch.nn.Linear(3, 2)
        scaled = model.weight * 0.5
        model.weight = scaled
        """, "AFT502", 4, "scaled", 3),
    "evaluation to numpy in a loop": (
        """
        model = torch.nn.Linear(3, 2)
        predictions = []
        for batch in torch.ones(3, 4, 3):
            out = model(batch)
            predictions.append(out.numpy())
        """, "AFT503", 6, "out", 5),
    "numpy of what a helper returns": (
        """
        model = torch.nn.Linear(3, 2)
        def predict(x):
            return model(x)
        def score(x):
            guess = predict(x)
            return guess.cpu().numpy().mean()
        score(torch.ones(4, 3))
        """, "AFT503", 7, "guess", 6),
    "early stopping copies a model with a cache": (
        """
        import copy
        class Attention(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.project = torch.nn.Linear(3, 3)
                self.last = None
            def forward(self, x):
                self.last = self.project(x).softmax(-1)
                return self.last
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = Attention()
            def forward(self, x):
                return self.attention(x).sum()
        model = Model()
        model(torch.ones(2, 3)).backward()
        best = copy.deepcopy(model)
        """, "AFT503", 19, "model.attention.last", 9),
    "integer targets that require gradients": (
        """
        x = torch.tensor([1, 2, 3], requires_grad=True)
        """, "AFT504", 2, None, None),
    "layers in a list": (
        """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [torch.nn.Linear(2, 2) for _ in range(3)]
        net = Net()
        optimizer = torch.optim.Adam(net.parameters())
        """, "AFT504", 7, "net.layers", 5),
    "a loss for each sample": (
        """
        model = torch.nn.Linear(3, 2)
        criterion = torch.nn.CrossEntropyLoss(reduction="none")
        for step in range(2):
            loss = criterion(model(torch.ones(4, 3)), torch.zeros(4, dtype=torch.long))
            loss.backward()
        """, "AFT505", 6, "loss", 5),
    "data-parallel losses that were not averaged": (
        """
        model = torch.nn.Linear(3, 1)
        def training_step(x):
            outputs = model(x)
            return {"loss": outputs.squeeze(1)}
        out = training_step(torch.ones(4, 3))
        out["loss"].backward()
        """, "AFT505", 7, "out['loss']", 5),
    "saliency of an input that is a copy": (
        """
        model = torch.nn.Linear(3, 1)
        image = torch.ones(1, 3, requires_grad=True)
        score = model(image.detach().clone()).sum()
        saliency = torch.autograd.grad(score, image)
        """, "AFT506", 5, "image", 3),
    "gradient penalty without requires_grad": (
        """
        critic = torch.nn.Linear(3, 1)
        def penalty(real, fake):
            mixed = 0.5 * real + 0.5 * fake
            score = critic(mixed)
            return torch.autograd.grad(score.sum(), mixed, create_graph=True)[0].norm()
        penalty(torch.ones(2, 3), torch.zeros(2, 3))
        """, "AFT506", 6, "mixed", 4),
    "a hook under no_grad": (
        """
        model = torch.nn.Linear(3, 2)
        with torch.no_grad():
            hidden = model(torch.ones(1, 3))
        hidden.register_hook(lambda grad: print(grad))
        """, "AFT507", 5, "hidden", 4),
    "chunks written in place": (
        """
        model = torch.nn.Linear(3, 4)
        gates = model(torch.ones(2, 3))
        forget, keep = gates.chunk(2, dim=1)
        forget.sigmoid_()
        """, "AFT508", 5, "forget", 4),
    "features from inference mode": (
        """
        backbone, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 2)
        @torch.inference_mode()
        def extract(x):
            return backbone(x)
        features = extract(torch.ones(2, 3))
        loss = head(features).sum()
        """, "AFT509", 7, "features", 6),
    "a norm at zero": (
        """
        torch.autograd.set_detect_anomaly(True)
        x = torch.zeros(3, requires_grad=True)
        try:
            distance = torch.sqrt(x.pow(2).sum())
            (distance * 0).backward()
        finally:
            torch.autograd.set_detect_anomaly(False)
        """, "AFT510", 6, None, 5),
    "a checkpointed layer that counts": (
        """
        from torch.utils.checkpoint import checkpoint
        class Block(torch.nn.Module):
            calls = 0
            def forward(self, x):
                Block.calls += 1
                return x.sin().exp() if Block.calls == 1 else x.sin()
        block = Block()
        out = checkpoint(block, torch.ones(3, requires_grad=True), use_reentrant=False)
        out.sum().backward()
        """, "AFT511", 10, "out", 9),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_error_names_the_line_and_the_tensor(name: str, tmp_path: Path, torch_as_it_was: None) -> None:
    program, code, line, tensor, made = PROGRAMS[name]
    seen = watch_source(dedent(program), tmp_path)
    *why, found = seen.findings
    assert all(one.severity.value == "warning" for one in why)  # of a run that ended for want of memory
    assert seen.error is not None
    assert (found.code, found.primary.site.line) == (code, line)
    assert (found.bridge.name if found.bridge is not None else None) == tensor
    places = [label.site.line for label in found.secondary]
    assert made in places if made is not None and made != line else True


REPORTED = sorted((Path(__file__).parent / "raised").glob("*.py"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", REPORTED, ids=lambda file: file.stem)
def test_programs_as_people_report_them(file: Path, tmp_path: Path, torch_as_it_was: None) -> None:
    """A line marked `# raises CODE: tensor` is where it raised; every line marked `# made` has a label."""
    text = file.read_text(encoding="utf-8")
    seen = watch_source(text, tmp_path)
    torch.autograd.set_detect_anomaly(False)
    (found,) = seen.findings
    marks = [(number, line.partition("  # ")[2]) for number, line in enumerate(text.splitlines(), 1)]
    tensor = f": {found.bridge.name}" if found.bridge is not None else ""
    raises = [(number, mark.rpartition("; ")[2]) for number, mark in marks if "raises" in mark]
    assert raises == [(found.primary.site.line, f"raises {found.code}{tensor}")]
    assert {number for number, mark in marks if "made" in mark} <= {label.site.line for label in found.secondary}
    words = said(found)
    assert all(label.text for label in (words.primary, *words.secondary)), "every place says what it has to do with it"
    assert all((words.headline, words.why, *words.helps))


@pytest.mark.parametrize(
    "file", [one for one in REPORTED if one.stem.startswith("reported_")], ids=lambda file: file.stem
)
def test_a_reported_program_names_its_report(file: Path) -> None:
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    assert re.fullmatch(r'"""https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+"""', first)


NOT_OURS = {
    "another None": "value = None\nprint(0.5 * value)",
    "a shape": "torch.nn.Linear(3, 2)(torch.ones(4, 4))",
    "a key": "{}['loss']",
    "None with a method": "best = None\nbest.data",
    "another None in a statement that reads a gradient": "w, mask = torch.ones(2, requires_grad=True), None\n"
    "w.sum().backward()\nw.grad.mul_(mask.scale)",
}


WARNED_OR_ELSEWHERE = {  # what is a warning, and what needs a GPU
    "grad-of-non-leaf",
    "graph-tensor-as-number",
    "recurrent-layer-differentiated-twice",
    "recurrent-layer-in-eval-mode",
}


@pytest.mark.filterwarnings("ignore")
def test_every_message_that_a_rule_explains_is_raised_by_a_program_as_people_write_it(torch_as_it_was: None) -> None:
    met = set()
    for source in (
        *(file.read_text(encoding="utf-8") for file in REPORTED),
        *(dedent(one[0]) for one in PROGRAMS.values()),
    ):
        try:
            exec(compile(source, "program.py", "exec"), {"__name__": "program", "torch": torch})
        except Exception as error:
            met |= {page.name for page in messages.find_in_a_run(str(error))}
        torch.autograd.set_detect_anomaly(False)
    explained = {page.name for page in messages.all_pages() if any(code.startswith("AFT5") for code in page.rules)}
    assert explained - met == WARNED_OR_ELSEWHERE


@pytest.mark.parametrize("name", NOT_OURS)
def test_other_errors_are_left_alone(name: str, tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(NOT_OURS[name], tmp_path)
    assert seen.error is not None
    assert seen.findings == []
