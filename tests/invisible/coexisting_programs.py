"""Programs under something else that watches, or in odd surroundings: under `afterward run` it must see the same."""

from __future__ import annotations

from tests.invisible.programs import Beside

_WORK = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def step(i):
    optimizer.zero_grad()
    loss = net(torch.randn(4, 3)).pow(2).mean()
    if i % 2:
        loss = loss * 2
    loss.backward()
    optimizer.step()
    return loss.item()
"""
_PLAIN = """
def f(n):
    total = 0
    for i in range(n):
        if i % 3:
            total += i
        else:
            total -= 1
    return total
def never():
    return 1
"""
_OTHERS = {
    "coverage_lines": """
import coverage, io
c = coverage.Coverage(data_file=None, branch=True)
c.start()
import work
print(work.f(5000))
c.stop()
_, statements, excluded, missing, _ = c.analysis2(work)
print(statements, missing, sorted(c.get_data().arcs(work.__file__)))
""",
    "line_profiler_hits": """
import line_profiler, work
p = line_profiler.LineProfiler()
f = p(work.f)
print(f(3000), f(10))
for (file, line, name), timings in p.get_stats().timings.items():
    print(line, name, [(at, hits) for at, hits, _ in timings])
""",
    "cprofile_in_program": """
import cProfile, pstats, work
p = cProfile.Profile()
p.enable()
work.f(3000)
p.disable()
print(sorted((name, line, count[0]) for (_, line, name), count in pstats.Stats(p).stats.items()))
""",
    "trace_module": """
import trace, work
t = trace.Trace(count=1, trace=0)
t.runfunc(work.f, 300)
print(sorted((line, n) for (file, line), n in t.results().counts.items() if file == work.__file__))
""",
}
_TYPED_TO_PDB = "b work.f\nc\nn\nn\np total\nw\nr\nq\n"

COEXISTING: dict[str, Beside] = {
    **{name: Beside({"main.py": source, "work.py": _PLAIN}) for name, source in _OTHERS.items()},
    "pdb_from_outside": Beside(
        {"main.py": "import work\nprint(work.f(10))\n", "work.py": _PLAIN}, ("-m", "pdb", "main.py"), stdin=_TYPED_TO_PDB
    ),
    "cprofile_from_outside": Beside({"main.py": _PLAIN + "print(f(2000))\n"}, ("-m", "cProfile", "-o", "p", "main.py")),
    "coverage_from_outside": Beside(
        {"main.py": _PLAIN + "print(f(2000))\n", ".coveragerc": "[run]\ndata_file = data\n"},
        ("-m", "coverage", "run", "main.py"),
    ),
    "optimized": Beside({"main.py": "assert False\nprint(__debug__)\ndef f():\n    'doc'\nprint(f.__doc__)"}, flags=("-OO",)),
    "isolated": Beside({"main.py": "import sys\nprint(sys.flags.isolated, sys.path[0][-3:])\nimport near", "near.py": ""}, flags=("-I",)),
    "warnings_are_errors": Beside({"main.py": _WORK + "print(step(1), step(2))\nimport warnings\nwarnings.warn('x')"}, flags=("-W", "error")),
    "bytes_warnings": Beside({"main.py": "print(b'' == '')\n"}, flags=("-bb",)),
    "development_mode": Beside({"main.py": "open(__file__)\nprint(1)\n"}, flags=("-X", "dev")),
    "no_bytecode": Beside({"main.py": "import work, os\nprint(sorted(os.listdir('.')))", "work.py": _PLAIN}, flags=("-B",)),
    "unbuffered": Beside({"main.py": "import os\nprint('a')\nos._exit(0)"}, flags=("-u",)),
    "faulthandler_on": Beside({"main.py": "import faulthandler\nprint(faulthandler.is_enabled())\n" + _WORK + "print(step(0))"}, flags=("-X", "faulthandler")),
    "no_home": Beside({"main.py": "import os\nprint(os.environ['HOME'])\n" + _WORK + "print(step(0))"}, environment={"HOME": "/nowhere"}),
    "locale_c": Beside({"main.py": "import sys, locale\nprint(sys.stdout.encoding, locale.getpreferredencoding())\nraise ValueError('gr\\u00fcn \\u2713')"}, environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "latin_streams": Beside({"main.py": "# \\u00fc\nname = '\\u2713'\ndef f():\n    raise ValueError(name)\nf()"}, environment={"PYTHONIOENCODING": "latin-1"}),
    "ascii_streams_strict": Beside({"main.py": "print('\\u2713')"}, environment={"PYTHONIOENCODING": "ascii:strict"}),
    "two_hundred_threads": Beside(
        {"main.py": "import threading, work\nout = []\nts = [threading.Thread(target=lambda: out.append(work.f(200))) for _ in range(200)]\n"
         "[t.start() for t in ts]\n[t.join() for t in ts]\nprint(len(out), set(out), threading.active_count())", "work.py": _PLAIN}
    ),
    "reader_goes_away": Beside(
        {"main.py": "import subprocess, sys\nchild = subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True)\n"
         "import os\nr, w = os.pipe()\nos.dup2(w, 1)\nos.close(w)\nos.close(r)\nprint('x' * 100000)"}
    ),
    "fork_then_exec": Beside(
        {"main.py": "import os, sys\npid = os.fork()\nif pid == 0:\n    os.execv(sys.executable, [sys.executable, '-c', 'import sys; print(sys.argv); sys.exit(4)'])\n"
         "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"}
    ),
    "daemon_thread_at_end": Beside(
        {"main.py": "import threading, time, work\ndef spin():\n    while True:\n        work.f(50)\nthreading.Thread(target=spin, daemon=True).start()\ntime.sleep(0.05)\nprint('end')", "work.py": _PLAIN}
    ),
}  # fmt: skip
