import contextlib
import types


@contextlib.contextmanager
def minimise(opt, name):
    job = types.SimpleNamespace(name=name, loss=None, value=None)
    try:
        yield job
    finally:
        if job.loss is not None:
            job.loss.backward()
            job.value = job.loss.item()
            job.loss = None
