import builtins
import sys

print([getattr(f, "__name__", type(f).__name__) for f in sys.meta_path])
print([getattr(f, "__name__", type(f).__name__) for f in sys.path_hooks])
print(builtins.__import__.__module__, builtins.compile.__class__, builtins.exec.__class__, builtins.open.__module__)
print(type(__builtins__).__name__, sys.audit.__class__.__name__, sys.getallocatedblocks() > 0)
