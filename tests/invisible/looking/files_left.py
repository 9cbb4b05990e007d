"""What is in the folder, which descriptors are open, which environment, limits, mask, times of imports and cached bytecode."""
import os
import pathlib
import resource
import sys

pathlib.Path("neighbour.py").write_text("A = 1\ndef f():\n    return A\n")
import neighbour

print(sorted(str(p) for p in pathlib.Path(".").rglob("*")))
fds = sorted(os.listdir("/proc/self/fd"), key=int)
print(len(fds), [os.readlink(f"/proc/self/fd/{n}").split(":")[0] for n in fds[:3]])
print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE), oct(os.umask(0o22)), os.getcwd().endswith("program"), os.getpriority(os.PRIO_PROCESS, 0))
print(sys.dont_write_bytecode, neighbour.__cached__.rsplit("/", 1)[-1], sys.pycache_prefix, sys.getswitchinterval(), sys.getrecursionlimit(), sys.getdlopenflags(), sys.get_int_max_str_digits())
data = pathlib.Path(neighbour.__cached__).read_bytes() if os.path.exists(neighbour.__cached__) else b""
import marshal

print(len(data) > 16 and marshal.loads(data[16:]).co_names, open("/proc/self/comm").read().strip(), len(os.listdir("/proc/self/task")))
print(sys.path[1:2] != [], [p for p in sys.path if "afterward" in p and "site" not in p], sys.meta_path[0].__class__, [getattr(f, "__name__", str(f)) for f in sys.path_hooks][:2])
print(sorted(e for e in os.environ if e.startswith(("PYTHON", "AFTER"))), sys.prefix == sys.base_prefix, sys.executable.rsplit("/", 1)[-1], sys.implementation.name)
os.chdir("/")
print(__file__.rsplit("/", 1)[-1], os.path.isabs(__file__), os.path.exists(__file__))
