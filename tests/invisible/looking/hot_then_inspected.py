"""A function that got hot, then is looked at: name tables, lines, disassembly positions, free variables."""
import dis
import inspect


def outer(base):
    def hot(n):
        total = base
        for i in range(n):
            total += i * i
            if total % 7 == 0:
                total -= 1
        return total

    return hot


hot = outer(3)
for k in range(300):
    hot(50)
code = hot.__code__
print(code.co_name, code.co_qualname, code.co_varnames, code.co_freevars, code.co_firstlineno, code.co_flags, code.co_argcount)
print(sorted({line for _, _, line in code.co_lines() if line is not None}))
print(inspect.getclosurevars(hot), inspect.getsource(hot))
print(hot.__closure__[0].cell_contents, inspect.signature(hot), hot.__defaults__)
print(inspect.getsourcelines(outer)[1], inspect.getfile(hot)[-3:])
print(sorted({i.argval for i in dis.get_instructions(hot) if i.opname.startswith(("LOAD_FAST", "STORE_FAST"))}, key=str))
