"""Caught autograd errors of many kinds: type, text, args, notes, dict, traceback, context; logged and formatted."""
import copy
import io
import logging
import pickle
import traceback

import torch

stream = io.StringIO()
logging.basicConfig(stream=stream)


def second():
    x = torch.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


def inplace():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y += 1
    y.sum().backward()


def leaf():
    x = torch.ones(2, requires_grad=True)
    x += 1


def nograd():
    torch.ones(2).sum().backward()


def unused():
    torch.autograd.grad(torch.ones(1, requires_grad=True).sum(), torch.ones(1, requires_grad=True))


def shape():
    (torch.ones(2, requires_grad=True) * 2).backward()


def item():
    torch.ones(2, requires_grad=True).numpy()


for f in (second, inplace, leaf, nograd, unused, shape, item):
    for again in range(3):
        try:
            f()
        except Exception as e:
            if again == 0:
                logging.exception("failed")
                print(traceback.format_exc())
                print(type(e), e.args, getattr(e, "__notes__", None), e.__cause__, e.__context__, str(e) == e.args[0], repr(e)[:30])
            twin = pickle.loads(pickle.dumps(e))
            print(type(twin), twin.args == e.args, copy.copy(e).args == e.args)
print(stream.getvalue())
raise SystemExit("end")
