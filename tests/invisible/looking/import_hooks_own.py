"""A finder and loader of its own, a lazy import, a reload, and a module that replaces itself."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import sys

SOURCE = {"gen_a": "import sys\nfrom gen_b import f\nX = f(2)\nWHO = sys._getframe().f_code.co_name\n", "gen_b": "def f(x):\n    return x * 21\n"}
log = []


class Finder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def find_spec(self, name, path, target=None):
        if name in SOURCE:
            log.append(("find", name, target is not None))
            return importlib.machinery.ModuleSpec(name, self, origin="memory")

    def get_source(self, name):
        log.append(("source", name))
        return SOURCE[name]


sys.meta_path.insert(0, Finder())
import gen_a

print(gen_a.X, gen_a.WHO, gen_a.__spec__.origin, gen_a.__loader__.__class__.__name__)
importlib.reload(gen_a)
print(log)
pathlib.Path("disk_m.py").write_text("VALUE = 1\n")
importlib.invalidate_caches()
import disk_m

print(disk_m.VALUE, disk_m.__file__.endswith("disk_m.py"), disk_m.__cached__ is not None, type(disk_m.__loader__).__name__)
pathlib.Path("disk_m.py").write_text("VALUE = 20000\n")
importlib.reload(disk_m)
print(disk_m.VALUE, disk_m.__spec__.loader is disk_m.__loader__)
pathlib.Path("self_replacing.py").write_text("import sys, types\nm = types.SimpleNamespace(a=5)\nsys.modules[__name__] = m\n")
importlib.invalidate_caches()
import self_replacing

print(self_replacing)
spec = importlib.util.find_spec("disk_m")
spec.loader = importlib.util.LazyLoader(spec.loader)
mod = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mod)
print(type(mod).__name__, mod.VALUE, type(mod).__name__)
print(importlib.util.spec_from_file_location("other", "disk_m.py").loader.get_code("other").co_consts)
