import contextvars

depth = contextvars.ContextVar("depth")


def down(n):
    token = depth.set(n)
    try:
        return [depth.get(), *(down(n - 1) if n else [])]
    finally:
        depth.reset(token)


print(down(5), list(contextvars.copy_context().items()))
context = contextvars.copy_context()
print(context.run(down, 2), len(context))
