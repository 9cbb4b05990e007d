import dis
import io


def scale(xs, k=2):
    out = []
    for x in xs:
        out.append(x * k)
    return out


print(scale([1, 2]))
text = io.StringIO()
dis.dis(scale, file=text)
print(text.getvalue())
code = scale.__code__
print(code.co_consts, code.co_stacksize, code.co_flags, code.co_nlocals, len(code.co_code), code.co_firstlineno)
print(code.co_name, code.co_argcount, list(code.co_positions())[:6])
