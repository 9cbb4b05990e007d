"""Loaded by Python itself in every process that `afterward run -- COMMAND` starts, before the program's first line.

It does nothing where `AFTERWARD` is not set. Another `sitecustomize`, which this one hides, is loaded afterwards.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _load_hidden() -> None:
    import importlib.machinery
    import importlib.util

    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _HERE]
if os.environ.get("AFTERWARD"):
    try:
        from afterward.integrations.startup import start
    except ImportError:  # this process has another Python, which does not know us
        pass
    else:
        start()
_load_hidden()
