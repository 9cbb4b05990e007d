"""ImportErrors from nested modules: their text, the frames shown, name, path and the module left out of sys.modules."""
import pathlib
import sys
import traceback

pathlib.Path("pkg").mkdir()
pathlib.Path("pkg/__init__.py").write_text("from . import one\n")
pathlib.Path("pkg/one.py").write_text("from .two import missing\n")
pathlib.Path("pkg/two.py").write_text("import pkg.three\n")
pathlib.Path("pkg/three.py").write_text("x = 1\n1 / x\n'a' + x\n")
pathlib.Path("broken_syntax.py").write_text("def f(:\n    pass\n")
pathlib.Path("circle_a.py").write_text("from circle_b import b\na = 1\n")
pathlib.Path("circle_b.py").write_text("from circle_a import a\nb = 1\n")
for name in ("pkg", "broken_syntax", "circle_a", "no_such_module_here", "os.nothing"):
    try:
        __import__(name)
    except BaseException as error:
        text = traceback.format_exc()
        print(text.replace(str(pathlib.Path.cwd()), "."))
        print(type(error), getattr(error, "name", None), [m for m in sys.modules if m.startswith(("pkg", "circle", "broken"))])
import pkg.one
