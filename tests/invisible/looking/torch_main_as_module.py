"""Program of several modules: package-relative imports, configs by dataclass, a registry by decorators, __main__ and the imported copy."""
import importlib
import pathlib
import sys

pathlib.Path("proj").mkdir()
pathlib.Path("proj/__init__.py").write_text("registry = {}\n\ndef register(f):\n    registry[f.__qualname__] = f.__code__.co_firstlineno\n    return f\n")
pathlib.Path("proj/models.py").write_text('''
from __future__ import annotations
import torch, inspect
from dataclasses import dataclass, fields
from . import register, registry

@dataclass
class Config:
    width: int = 4

@register
def build(config: Config) -> torch.nn.Module:
    return torch.nn.Linear(config.width, 1)

WHERE = inspect.currentframe().f_back is not None
TYPES = [f.type for f in fields(Config)]
''')
pathlib.Path("proj/__main__.py").write_text("import sys\nfrom .models import build, Config, TYPES\nprint('main', __package__, __name__, TYPES, sys.argv[1:])\n")
pathlib.Path("proj/train.py").write_text('''
import torch
from .models import build, Config
def train(steps):
    torch.manual_seed(0)
    net = build(Config())
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(steps):
        opt.zero_grad(); loss = net(torch.randn(2, 4)).pow(2).sum(); loss.backward(); opt.step()
    return loss
''')
sys.path.insert(0, ".")
from proj import registry
from proj.train import train

print(registry, train(5).item())
import runpy

runpy.run_module("proj", run_name="__main__", alter_sys=True)
print(runpy.run_path("proj/models.py", run_name="proj.copy") if False else sorted(importlib.import_module("proj.models").__dict__)[:12])
importlib.reload(sys.modules["proj.train"])
loss = sys.modules["proj.train"].train(3)
print(loss.item(), sys.modules["proj.train"].__spec__.parent, sys.modules["proj.models"].__file__)
print(sorted(m for m in sys.modules if m.startswith("proj")))
loss.backward()
