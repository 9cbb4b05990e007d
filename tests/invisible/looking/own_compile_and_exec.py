"""compile/exec/eval of its own source and of made code, in several namespaces, with linecache."""
import ast
import linecache
import sys
import traceback

source = open(__file__).read()
tree = ast.parse(source)
names = [type(node).__name__ for node in tree.body]
print(names)
own = compile(source.split("# CUT")[0].replace("print(names)", "print('again', __name__, __file__)").replace("__file__).read", "__file__).read"), __file__, "exec", dont_inherit=True)
if __name__ == "__main__":
    scope = {"__name__": "copy", "__file__": __file__}
    exec(own, scope)
    print(sorted(k for k in scope if not k.startswith("__")))
# CUT
code = compile("def made(x):\n    y = x + 1\n    raise ValueError(y)\n", "<made>", "exec")
ns = {}
exec(code, ns)
try:
    ns["made"](1)
except ValueError:
    traceback.print_exc(file=sys.stdout)
text = "def other(x):\n    return 1 / x\n"
linecache.cache["<lined>"] = (len(text), None, text.splitlines(True), "<lined>")
exec(compile(text, "<lined>", "exec"), ns)
try:
    ns["other"](0)
except ZeroDivisionError:
    traceback.print_exc(file=sys.stdout)
print(eval("[chr(c) for c in range(97, 100)]"), eval(compile(ast.Expression(ast.parse("1+2", mode="eval").body), "<e>", "eval")))
exec("print(sorted(locals()), sys._getframe().f_back.f_lineno)", {"sys": sys}, {"a": 1})
print(compile(source, __file__, "exec").co_names[:5], compile(source, __file__, "exec") == compile(source, __file__, "exec"))
print(len(compile(source, __file__, "exec").co_code) == len(compile(source, "other.py", "exec").co_code))
exec(compile("undefined_name", __file__, "eval"))
