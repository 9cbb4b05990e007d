"""Doc of main."""
from __future__ import annotations
import sys, __main__
count: int = 3
print({k: (v if isinstance(v, (str, int, type(None))) else type(v).__name__) for k, v in vars(__main__).items() if k not in ("sys",)})
print(list(globals())[:12])
print(__main__.__doc__, __file__, __name__, __package__, __spec__, __builtins__ is sys.modules["builtins"], __annotations__, type(__loader__).__name__, __loader__.path if hasattr(__loader__, "path") else None)
print(__loader__.get_source("__main__")[:10] if hasattr(__loader__, "get_source") else None)
print(sys.flags, sys.dont_write_bytecode, sys.getrecursionlimit(), sys.getswitchinterval(), sys.getdlopenflags())
import importlib.util
print(importlib.util.find_spec("main").origin)
import main
print(main.__name__, main is __main__) if __name__ == "__main__" else None
