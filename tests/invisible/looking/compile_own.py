import ast
import sys

source = open(__file__).read()
tree = ast.parse(source)
print(len(tree.body), ast.dump(tree.body[0]))


class Double(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.Constant(node.value * 2) if isinstance(node.value, int) else node


small = ast.fix_missing_locations(Double().visit(ast.parse("x = 21")))
space = {}
exec(compile(small, "<own>", "exec"), space)
print(space["x"])
code = compile("def f():\n    return g()\n\ndef g():\n    raise KeyError(1)\n", "generated.py", "exec")
exec(code, space)
print(space["f"].__code__.co_filename, space["f"].__code__.co_consts)
for flag in (0, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, ast.PyCF_ONLY_AST):
    print(type(compile("1", "a", "exec", flag)).__name__)
sys.stdout.flush()
space["f"]()
