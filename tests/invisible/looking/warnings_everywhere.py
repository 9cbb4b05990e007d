"""showwarning, filters by module and line, registries, simplefilter once, catch_warnings in hot code, -W at the end."""
import sys
import warnings

shown = []
warnings.showwarning = lambda m, c, f, l, *a, **k: shown.append((str(m), c.__name__, f.rsplit("/", 1)[-1], l))
warnings.simplefilter("default")


def api():
    warnings.warn("deep", UserWarning, stacklevel=3)


def layer():
    api()


for _ in range(10):
    layer()
layer()
print(shown)
shown.clear()
warnings.simplefilter("always")
for i in range(30):
    warnings.warn(f"n{i % 2}")
print(len(shown), set(shown))
print(sorted(k for k in globals().get("__warningregistry__", {}) if k != "version")[:4])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = 1
    eval("x is 1")
    compile("'\\d'", "c.py", "exec")
    open(__file__)
print([(type(c.message).__name__, c.lineno, c.filename.rsplit("/", 1)[-1]) for c in caught])
warnings.filterwarnings("error", module="__main__")
try:
    warnings.warn("now an error")
except UserWarning as e:
    print("raised", e.__traceback__.tb_lineno)
warnings.warn_explicit("explicit", UserWarning, "nofile.py", 3, module="other", registry={})
print(shown[-1])
sys.warnoptions.append("x")
print(sys.warnoptions)
