import zipapp, runpy, os, sys, subprocess, pathlib, torch
os.makedirs("app/pkg", exist_ok=True)
pathlib.Path("app/__main__.py").write_text("import sys\nfrom pkg import mod\nprint(__name__, __package__, __spec__ and __spec__.name, sys.argv, mod.f(), __file__[-12:])\n")
pathlib.Path("app/pkg/__init__.py").write_text("")
pathlib.Path("app/pkg/mod.py").write_text("import torch\ndef f():\n    x = torch.ones(2, requires_grad=True)\n    (x*x).sum().backward()\n    return x.grad.tolist(), __file__[-10:], __loader__.__class__.__name__\ndef bad():\n    x = torch.ones(2, requires_grad=True); l = (x*x).sum(); l.backward(); l.backward()\n")
zipapp.create_archive("app", "a.pyz")
ns = runpy.run_path("a.pyz", run_name="zip_main"); print(sorted(k for k in ns if not k.startswith("__")), ns["__name__"])
for k in [k for k in sys.modules if k.startswith("pkg")]: del sys.modules[k]
ns = runpy.run_path("app"); print(sorted(ns))
sys.path.insert(0, "app")
r = runpy.run_module("pkg.mod", run_name="rm", alter_sys=True); print(r["__name__"], r["__package__"], r["__file__"])
import traceback
try: r["bad"]()
except RuntimeError: print(traceback.format_exc()[:300])
print(subprocess.run([sys.executable, "a.pyz", "q"], capture_output=True, text=True))
print(sys.argv, sorted(os.listdir(".")))
