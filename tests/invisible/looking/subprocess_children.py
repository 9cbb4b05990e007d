"""Children by sys.executable: -c, -m, a script, stdin; their argv, environment, status and modules."""
import os
import pathlib
import subprocess
import sys

pathlib.Path("child.py").write_text("import sys, os\nprint(sys.argv, sys.flags.dont_write_bytecode, __name__, 'afterward' in sys.modules, sys.gettrace())\nprint(sorted(k for k in os.environ if 'AFTERWARD' in k.upper()))\nsys.exit(5)\n")
for args, given in ((["child.py", "a b"], None), (["-c", "import sys; print(sys.argv, sys.path[0]); raise KeyError('k')"], None), (["-m", "child"], None), (["-"], "print(1+1, __name__); import nothing_at_all"), (["-c", "import os, signal; os.kill(os.getpid(), 9)"], None)):
    done = subprocess.run([sys.executable, *args], input=given, capture_output=True, text=True)
    print(done.returncode, done.stdout, done.stderr[-200:])
print(sorted(k for k in os.environ if "AFTERWARD" in k.upper()))
pid = os.fork()
if pid == 0:
    print("child", flush=True)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, "child.py", "by exec"])
