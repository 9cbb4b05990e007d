"""Libraries that run the loop or carry the features: Lightning, Hugging Face, Accelerate, DGL, PyG."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.interpret.checking import check_source

_MARK = re.compile(r"# (?:error|warning): (AFT\d+)")

SCRIPTS = {
    "Lightning: a state kept on the module": """
import torch, lightning as L
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 4)
        self.out = torch.nn.Linear(4, 1)
        self.h = None
    def training_step(self, batch, batch_idx):
        x, = batch
        h = torch.zeros(len(x), 4) if self.h is None else self.h
        self.h = self.cell(x, h)
        return self.out(self.h).pow(2).mean()
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)
data = [(x,) for x in torch.randn(4, 4, 3)]
L.Trainer(max_epochs=2, logger=False).fit(Net(), data)  # error: AFT103
""",
    "Lightning: the state is cut, numbers are logged": """
import torch, lightning.pytorch as pl
class Net(pl.LightningModule):
    def __init__(self, lr=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.cell = torch.nn.GRUCell(3, 4)
        self.out = torch.nn.Linear(4, 1)
        self.h = None
        self.seen = []
    def training_step(self, batch, batch_idx):
        x, = batch
        h = torch.zeros(len(x), 4) if self.h is None else self.h
        h = self.cell(x, h)
        self.h = h.detach()
        loss = self.out(h).pow(2).mean()
        self.log("loss", loss)
        self.seen.append(loss.item())
        return {"loss": loss}
    def configure_optimizers(self):
        opt = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        return {"optimizer": opt}
if __name__ == "__main__":
    data = [(x,) for x in torch.randn(4, 4, 3)]
    trainer = pl.Trainer(max_epochs=2, logger=False)
    trainer.fit(Net(), data)
""",
    "Lightning: manual optimization, a fake that is not detached": """
import torch, lightning as L
class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g, self.d = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Linear(8, 1))
    def training_step(self, batch, batch_idx):
        og, od = self.optimizers()
        x, = batch
        fake = torch.tanh(self.g(torch.randn(len(x), 2)))
        loss_d = self.d(fake).mean() - self.d(x).mean()
        od.zero_grad()
        self.manual_backward(loss_d)
        od.step()
        loss_g = -self.d(fake).mean()
        og.zero_grad()
        self.manual_backward(loss_g)  # error: AFT105
        og.step()
    def configure_optimizers(self):
        return [torch.optim.Adam(self.g.parameters()), torch.optim.Adam(self.d.parameters())]
data = [(x,) for x in torch.randn(4, 4, 3)]
L.Trainer(max_epochs=2, logger=False).fit(GAN(), data)
""",
    "Lightning: manual optimization, optimizers toggled": """
import torch, lightning as L
class GAN(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.g, self.d = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Linear(8, 1))
    def training_step(self, batch, batch_idx):
        og, od = self.optimizers()
        x, = batch
        self.toggle_optimizer(og)
        fake = torch.tanh(self.g(torch.randn(len(x), 2)))
        loss_g = -self.d(fake).mean()
        og.zero_grad()
        self.manual_backward(loss_g)
        og.step()
        self.untoggle_optimizer(og)
        self.toggle_optimizer(od)
        loss_d = self.d(fake.detach()).mean() - self.d(x).mean()
        od.zero_grad()
        self.manual_backward(loss_d)
        od.step()
        self.untoggle_optimizer(od)
    def configure_optimizers(self):
        return [torch.optim.Adam(self.g.parameters()), torch.optim.Adam(self.d.parameters())]
data = [(x,) for x in torch.randn(4, 4, 3)]
L.Trainer(max_epochs=2, logger=False).fit(GAN(), data)
""",
    "Lightning: losses collected with their history": """
import torch, lightning as L
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(3, 1)
        self.losses = []
    def training_step(self, batch, batch_idx):
        x, = batch
        loss = self.net(x).pow(2).mean()
        self.losses.append(loss)  # error: AFT301
        return loss
    def on_train_epoch_end(self):
        self.log("mean", torch.stack(self.losses).mean())
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)
data = [(x,) for x in torch.randn(4, 4, 3)]
L.Trainer(max_epochs=2, logger=False).fit(Net(), data)
""",
    "Lightning: a module that nobody fits here": """
import torch, pytorch_lightning as pl
class Net(pl.LightningModule):
    def __init__(self, hidden=4):
        super().__init__()
        self.cell = torch.nn.GRUCell(3, hidden)
        self.out = torch.nn.Linear(hidden, 1)
        self.h = torch.zeros(4, hidden)
    def training_step(self, batch, batch_idx):  # error: AFT103
        x, y = batch
        self.h = self.cell(x, self.h)
        loss = torch.nn.functional.mse_loss(self.out(self.h), y)
        self.log("train", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)
""",
    "Accelerate: a state in a buffer": """
import torch
from accelerate import Accelerator
class Mem(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)
        self.register_buffer("mem", torch.zeros(3))
    def forward(self, x):
        self.mem = torch.tanh(0.9 * self.mem + self.lin(x).mean(0))
        return x - self.mem
acc = Accelerator(cpu=True)
model = Mem()
opt = torch.optim.SGD(model.parameters(), lr=.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16, 3)), batch_size=4)
model, opt, loader = acc.prepare(model, opt, loader)
for (x,) in loader:
    with acc.accumulate(model):
        loss = model(x).pow(2).mean()
        acc.backward(loss)  # error: AFT103
        acc.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
""",
    "Hugging Face: a subclass of the Trainer": """
import torch
from transformers import Trainer, TrainingArguments
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 4)
        self.head = torch.nn.Linear(4, 1)
        self.prev = None
    def forward(self, x=None, labels=None):
        h = torch.tanh(self.lin(x))
        if self.prev is not None:
            h = h + 0.1 * self.prev.mean(0)
        self.prev = h
        return {"logits": self.head(h)}
class T(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        out = model(**inputs)
        loss = (out["logits"].squeeze(-1) - inputs["labels"]).pow(2).mean()
        return (loss, out) if return_outputs else loss
data = [{"x": torch.randn(3), "labels": torch.randn(())} for _ in range(16)]
T(model=Net(), args=TrainingArguments(output_dir="out", max_steps=4), train_dataset=data).train()  # error: AFT103
""",
    "DGL: a layer writes its output over its input": """
import torch, dgl
import dgl.function as fn
class Layer(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = torch.nn.Linear(d, d)
    def forward(self, g):
        g.ndata["h"] = torch.tanh(self.lin(g.ndata["h"]))
        g.update_all(fn.copy_u("h", "m"), fn.sum("m", "h"))
        return g.ndata["h"]
g = dgl.graph((torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])))
g.ndata["h"] = torch.randn(3, 4)
net = Layer(4)
opt = torch.optim.Adam(net.parameters())
for epoch in range(3):
    loss = net(g).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # error: AFT103
    opt.step()
""",
    "DGL: the same in a local scope": """
import torch, dgl
import dgl.function as fn
class Layer(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = torch.nn.Linear(d, d)
    def forward(self, g):
        with g.local_scope():
          g.ndata["h"] = torch.tanh(self.lin(g.ndata["h"]))
          g.update_all(fn.copy_u("h", "m"), fn.sum("m", "h"))
          return g.ndata["h"]
g = dgl.graph((torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])))
g.ndata["h"] = torch.randn(3, 4)
net = Layer(4)
opt = torch.optim.Adam(net.parameters())
for epoch in range(3):
    loss = net(g).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "DGL: functions named with keywords": """
import dgl
import dgl.function as fn
import torch
message, reduce = fn.copy_u(u="h", out="m"), fn.sum(msg="m", out="h")
g = dgl.graph((torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])))
first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
opt = torch.optim.Adam([*first.parameters(), *second.parameters()])
for epoch in range(3):
    g.ndata["h"] = torch.relu(first(torch.randn(3, 4)))
    g.update_all(message, reduce)
    loss = second(g.ndata["h"]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "DGL: LightGCN, propagated once per epoch": """
import torch, dgl
import dgl.function as fn
class LightGCN(torch.nn.Module):
    def __init__(self, n, d, layers=2):
        super().__init__()
        self.emb = torch.nn.Embedding(n, d)
        self.layers = layers
    def propagate(self, g):
        h = self.emb.weight
        out = [h]
        with g.local_scope():
            for _ in range(self.layers):
                g.ndata["h"] = h
                g.update_all(fn.u_mul_e("h", "w", "m"), fn.sum("m", "h"))
                h = g.ndata["h"]
                out.append(h)
        return torch.stack(out).mean(0)
g = dgl.graph((torch.tensor([0, 1, 2, 3]), torch.tensor([1, 2, 3, 0])))
g.edata["w"] = torch.rand(4, 1)
net = LightGCN(4, 3)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for epoch in range(2):
    z = net.propagate(g)
    for step in range(3):
        u, i, j = torch.randint(0, 4, (3, 5))
        loss = -torch.nn.functional.logsigmoid((z[u] * (z[i] - z[j])).sum(-1)).mean()
        opt.zero_grad()
        loss.backward()  # error: AFT104
        opt.step()
""",
    "PyG: a memory of the last output": """
import torch
from torch_geometric.nn import MessagePassing, GCNConv
class Conv(MessagePassing):
    def __init__(self, d):
        super().__init__(aggr="add")
        self.lin = torch.nn.Linear(d, d)
    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=torch.tanh(self.lin(x)))
    def message(self, x_j):
        return 0.5 * x_j
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Conv(4), GCNConv(4, 4)
        self.memory = None
    def forward(self, x, e):
        h = self.a(x, e)
        h = torch.relu(self.b(h, e))
        if self.memory is not None:
            h = h + 0.1 * self.memory
        self.memory = h
        return h
e = torch.tensor([[0, 1, 2], [1, 2, 0]])
net = Net()
opt = torch.optim.Adam(net.parameters())
for i in range(3):
    loss = net(torch.randn(3, 4), e).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # error: AFT103
    opt.step()
""",
    "PyG: the memory is cut": """
import torch
from torch_geometric.nn import MessagePassing, GCNConv
class Conv(MessagePassing):
    def __init__(self, d):
        super().__init__(aggr="add")
        self.lin = torch.nn.Linear(d, d)
    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=torch.tanh(self.lin(x)))
    def message(self, x_j):
        return 0.5 * x_j
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Conv(4), GCNConv(4, 4)
        self.memory = None
    def forward(self, x, e):
        h = self.a(x, e)
        h = torch.relu(self.b(h, e))
        if self.memory is not None:
            h = h + 0.1 * self.memory
        self.memory = h.detach()
        return h
e = torch.tensor([[0, 1, 2], [1, 2, 0]])
net = Net()
opt = torch.optim.Adam(net.parameters())
for i in range(3):
    loss = net(torch.randn(3, 4), e).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
}


@pytest.mark.parametrize("source", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_a_script(source: str, tmp_path: Path) -> None:
    expected = [(number, mark[1]) for number, line in enumerate(source.splitlines(), 1) if (mark := _MARK.search(line))]
    assert [(f.primary.site.line, f.code) for f in check_source(source, tmp_path)] == expected


def test_a_copy_of_a_modelled_library_is_not_interpreted(tmp_path: Path) -> None:
    """In a checkout of the library itself its model counts; a module that only has its name is the program's own."""
    source = SCRIPTS["Lightning: a state kept on the module"]
    package = tmp_path / "lightning"
    (package / "pytorch").mkdir(parents=True)
    (package / "__init__.py").write_text("class LightningModule: pass\nclass Trainer: pass\n")
    assert [found.code for found in check_source(source, tmp_path)] == ["AFT103"]
    (package / "pytorch").rmdir()
    assert check_source(source, tmp_path) == []
