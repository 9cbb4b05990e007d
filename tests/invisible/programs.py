"""Programs that look at themselves. Under `afterward run` each must do what it does under `python`, to the letter.

A program is its main file; what it needs beside that (modules, arguments, another way of starting) stands in `BESIDE`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Beside:
    """What a program needs beside its main file."""

    files: dict[str, str] = field(default_factory=dict)
    argv: tuple[str, ...] = ("main.py",)  # what follows `python`, or `afterward run`
    links: dict[str, str] = field(default_factory=dict)
    archive: str = ""  # the files go into a zip archive of this name
    environment: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    flags: tuple[str, ...] = ()  # of the interpreter


PLAIN = {
    "frames_below_main": "import sys\nprint(sys._getframe().f_back, sys._getframe().f_code.co_name)",
    "depth_of_stack": "import inspect\ndef f(): return len(inspect.stack())\nprint(f(), len(inspect.stack()))",
    "getframe_too_deep": "import sys\ntry: sys._getframe(1)\nexcept ValueError as e: print(e)",
    "print_stack": "import traceback, sys\ndef f(): traceback.print_stack(file=sys.stdout)\nf()",
    "faulthandler_dump": "import faulthandler, sys\ndef f(): faulthandler.dump_traceback(sys.stdout, all_threads=False)\nf()",
    "warning_stacklevel": "import warnings\ndef old(): warnings.warn('old', DeprecationWarning, stacklevel=2)\n"
    "old()\nwarnings.warn('top', stacklevel=2)",
    "warning_stacklevel_3": "import warnings\nwarnings.simplefilter('always')\nwarnings.warn('far', stacklevel=3)",
    "main_globals": "print(sorted(globals()))\nprint(__name__, __package__, __spec__, __doc__, __annotations__)",
    "main_file": "import os\nprint(os.path.basename(__file__), os.path.isabs(__file__), __cached__)",
    "main_loader": "print(type(__loader__).__name__, __loader__.name, __loader__.is_package('__main__'))",
    "main_module": "import __main__, sys\nprint(__main__ is sys.modules['__main__'], __main__.__dict__ is globals())",
    "argv": "import sys\nprint(sys.argv)",
    "path_first": "import sys, os\nprint(os.path.samefile(sys.path[0], '.'), len(sys.path) == len(set(sys.path)))",
    "own_builtins": "import builtins\nprint([n for n in dir(builtins) if 'afterward' in n])",
    "code_names": "def f(x):\n    y = x + 1\n    return len([y])\nprint(f.__code__.co_names, f.__code__.co_varnames, f.__code__.co_freevars)",
    "source_of_itself": "import inspect\ndef f(x):\n    # a comment\n    return x\nprint(inspect.getsource(f))",
    "lines_of_code": "def f(x):\n    if x:\n        y = 1\n    else:\n        y = 2\n    return y\nprint(sorted({l for *_, l in f.__code__.co_lines() if l}))",
    "settrace_lines": "import sys\nseen = []\ndef t(f, e, a):\n    seen.append((f.f_code.co_name, f.f_lineno, e))\n    return t\n"
    "def g(n):\n    total = 0\n    for i in range(n):\n        if i % 2:\n            continue\n        total += i\n    return total\n"
    "sys.settrace(t)\ng(5)\nsys.settrace(None)\nprint(seen)",
    "setprofile_calls": "import sys\nseen = []\ndef p(f, e, a):\n    seen.append((f.f_code.co_name, e, getattr(a, '__name__', a)))\n"
    "def g():\n    x = abs(-1)\n    return x\nsys.setprofile(p)\ng()\nsys.setprofile(None)\nprint(seen)",
    "cprofile_counts": "import cProfile, pstats, io\ndef f(n):\n    return sum(abs(i) for i in range(n))\np = cProfile.Profile()\n"
    "p.runcall(f, 50)\ns = pstats.Stats(p)\nprint(sorted((k[2], v[0]) for k, v in s.stats.items()))",
    "restricted_builtins": "import types\ndef f(x):\n    y = x * 2\n    return y\n"
    "print(types.FunctionType(f.__code__, {'__builtins__': {}}, 'f')(4))",
    "prepare_missing": "class N(dict):\n    def __missing__(self, k):\n        self[k] = k\n        return k\nclass M(type):\n"
    "    @classmethod\n    def __prepare__(m, n, b): return N()\nclass C(metaclass=M):\n    red\n    green\n"
    "print(sorted(k for k in vars(C) if not k.startswith('__')))",
    "prepare_logs": "log = []\nclass N(dict):\n    def __getitem__(self, k):\n        log.append(k)\n        return super().__getitem__(k)\n"
    "class M(type):\n    @classmethod\n    def __prepare__(m, n, b): return N()\nclass C(metaclass=M):\n    x = 1\n    y = x + 1\n"
    "print(log)",
    "exec_other_namespace": "src = 'def f():\\n    return 1\\n'\nns = {}\nexec(src, ns)\nprint(ns['f'](), sorted(ns))",
    "marshal_function": "import marshal, types\ndef f(x):\n    y = x + 1\n    return y\ncode = marshal.loads(marshal.dumps(f.__code__))\n"
    "print(types.FunctionType(code, {})(1))",
    "marshal_elsewhere": "import marshal, subprocess, sys\ndef f(x):\n    y = x + 1\n    return y\ndata = marshal.dumps(f.__code__)\n"
    "run = 'import marshal, sys, types; f = types.FunctionType(marshal.load(sys.stdin.buffer), {}); print(f(1))'\n"
    "print(subprocess.run([sys.executable, '-c', run], input=data, capture_output=True))",
    "code_hash_equal": "def f():\n    return 1\nprint(f.__code__ == f.__code__.replace(), hash(f.__code__) == hash(f.__code__.replace()))",
    "replaced_code_runs": "def f(x):\n    y = x + 1\n    return y\ng = type(f)(f.__code__.replace(co_name='g'), globals())\n"
    "print(sum(g(i) for i in range(3000)), g.__name__, g.__code__.co_name)",
    "freed_code": "import gc\ndef make():\n    ns = {}\n    exec('def f(n):\\n    t = 0\\n    for i in range(n):\\n        t += i\\n    return t', ns)\n"
    "    return ns['f']\nfor _ in range(200):\n    f = make()\n    f(500)\n    del f\n    gc.collect()\nprint('ok')",
    "recursion_near": "import sys\nsys.setrecursionlimit(400)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(390))",
    "recursion_over": "import sys\nsys.setrecursionlimit(300)\ndef f(n):\n    try:\n        return f(n + 1)\n    except RecursionError:\n        return n\n"
    "print(f(0))",
    "recursion_error_end": "def f(n):\n    return f(n + 1)\nf(0)",
    "exit_large": "import sys\nsys.exit(2**70)",
    "exit_negative": "import sys\nsys.exit(-1)",
    "exit_text": "import sys\nsys.exit('nothing to do')",
    "exit_tuple": "import sys\nsys.exit((1, 'b'))",
    "exit_bool": "import sys\nsys.exit(True)",
    "exit_none": "raise SystemExit",
    "exit_in_except": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise SystemExit(3)",
    "os_exit": "import os\nprint('before', flush=True)\nos._exit(7)",
    "abort": "import os\nos.abort()",
    "die_by_sigint": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(5)",
    "raise_interrupt": "raise KeyboardInterrupt",
    "die_by_sigterm": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "handled_sigterm": "import os, signal, sys\nsignal.signal(signal.SIGTERM, lambda n, f: sys.exit(5))\nos.kill(os.getpid(), signal.SIGTERM)",
    "atexit_order": "import atexit\natexit.register(print, 'first in, last out')\natexit.register(print, 'last in')\nprint('main ends')",
    "del_at_exit": "class W:\n    def __init__(self): self.rows = []\n    def add(self, r):\n        self.rows.append(r)\n"
    "    def __del__(self):\n        total = 0\n        for r in self.rows:\n            total += r\n        print('flushed', total)\n"
    "w = W()\nfor i in range(10): w.add(i)",
    "del_calls_method": "class A:\n    def close(self):\n        self.done = True\n        return self.done\n    def __del__(self):\n"
    "        print('closed', self.close())\na = A()\na.me = a",
    "thread_outlives": "import threading, time\ndef late():\n    time.sleep(0.1)\n    print('late')\nthreading.Thread(target=late).start()\nprint('main ends')",
    "thread_raises": "import threading\ndef bad():\n    raise ValueError('in a thread')\nt = threading.Thread(target=bad)\nt.start()\nt.join()\nprint('went on')",
    "excepthook_own": "import sys\nsys.excepthook = lambda t, v, tb: print('own', t.__name__, v, tb.tb_lineno, tb.tb_next)\nraise ValueError('x')",
    "excepthook_raises": "import sys\ndef hook(*a):\n    raise KeyError('hook')\nsys.excepthook = hook\nraise ValueError('x')",
    "excepthook_exits": "import sys\nsys.excepthook = lambda *a: sys.exit(9)\nraise ValueError('x')",
    "excepthook_gone": "import sys\ndel sys.excepthook\nraise ValueError('x')",
    "excepthook_frames": "import sys, inspect\nsys.excepthook = lambda *a: print(len(inspect.stack()))\nraise ValueError('x')",
    "last_value": "import sys, atexit\natexit.register(lambda: print(sys.last_type, sys.last_value, sys.last_traceback.tb_lineno))\nraise ValueError('x')",
    "stdout_none": "import sys\nsys.stdout = None\nraise ValueError('x')",
    "stderr_none": "import sys\nsys.stderr = None\nraise ValueError('x')",
    "stdout_closed": "import sys\nsys.stdout.close()\nraise ValueError('x')",
    "stderr_closed": "import sys\nsys.stderr.close()\nraise ValueError('x')",
    "stdout_own": "import sys\nclass Own:\n    def write(self, t): return sys.__stdout__.write(t.upper())\n    def flush(self): sys.__stdout__.flush()\n"
    "sys.stdout = Own()\nprint('hello')\nraise ValueError('x')",
    "stdout_raises": "import sys\nclass Own:\n    def write(self, t): raise OSError('full')\n    def flush(self): raise OSError('full')\nsys.stdout = Own()\n",
    "order_of_streams": "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.stdout.write('no newline')\nraise ValueError('end')",
    "chained_errors": "def f():\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n        raise KeyError('k') from e\nf()",
    "exception_group": "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])",
    "error_with_notes": "e = ValueError('x')\ne.add_note('a note')\nraise e",
    "no_line": "def f():\n    raise ValueError('real error')\nf.__code__ = f.__code__.replace(co_linetable=b'')\nf()",
    "syntax_error_main": "x = 1\ny = = 2\n",
    "syntax_warning": "x = 1\nprint(x is 1)\n",
    "tab_error": "if 1:\n\tx = 1\n        y = 2\n",
    "null_byte": "x = 1\0\n",
    "coding_latin": "# -*- coding: latin-1 -*-\nprint('abc')",
    "future_annotations": "from __future__ import annotations\ndef f(x: nothing) -> nowhere: ...\nprint(f.__annotations__)",
    "docstring": "'''What it does.'''\nprint(__doc__)\ndef f():\n    'its own'\nprint(f.__doc__)",
    "empty": "",
    "only_comment": "# nothing\n",
    "generator_state": "def g():\n    x = yield 1\n    print('got', x)\n    yield x\ni = g()\nprint(next(i), i.send(5), i.gi_frame.f_lineno)\ni.close()",
    "async_all": "import asyncio\nasync def a(n):\n    await asyncio.sleep(0)\n    return n\nasync def main():\n    return await asyncio.gather(*(a(i) for i in range(50)))\n"
    "print(sum(asyncio.run(main())))",
    "locals_of_main": "def f(a, b=2):\n    c = a + b\n    return locals()\nprint(f(1))",
    "unpickle_own_class": "import pickle\nclass A:\n    def __init__(self): self.x = 1\nprint(pickle.loads(pickle.dumps(A())).x, A.__module__)",
    "fork": "import os, sys\npid = os.fork()\nif pid == 0:\n    total = 0\n    for i in range(20000):\n        total += i\n    os._exit(total % 7)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    "spawn": "import multiprocessing as mp\ndef f(x):\n    y = x * x\n    return y\nif __name__ == '__main__':\n    with mp.get_context('spawn').Pool(1) as p:\n        print(p.map(f, range(4)))",
    "subprocess_same": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv)'], capture_output=True, text=True).stdout)",
    "environment": "import os\nprint([k for k in os.environ if 'AFTERWARD' in k.upper()])",
    "working_folder": "import os\nprint(sorted(os.listdir('.')))",
    "stdin": "import sys\nprint(sys.stdin.read().upper(), input if False else 'end')",
    "pdb_commands": "import pdb\ndef f(x):\n    y = x + 1\n    pdb.set_trace()\n    z = y * 2\n    return z\nprint(f(1))",
    "signal_in_plain_code": "import signal, time\nclass T(Exception): pass\ndef h(n, f): raise T\nsignal.signal(signal.SIGALRM, h)\n"
    "signal.setitimer(signal.ITIMER_REAL, 0.05)\ntry:\n    while True:\n        x = 1\nexcept T:\n    print('struck')",
    "frame_globals_in_handler": "import signal, os\nsignal.signal(signal.SIGUSR1, lambda n, f: print(f.f_code.co_name))\ndef work():\n    os.kill(os.getpid(), signal.SIGUSR1)\n    return 1\nwork()",
    "weakref_end": "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'gone')\nprint('end')",
    "hot_loop_exact": "def f(n):\n    t = 0\n    for i in range(n):\n        if i % 3: t += i\n        else: t -= 1\n    return t\nprint(f(100000))",
    "hot_exceptions": "n = 0\nfor i in range(20000):\n    try:\n        if i % 7 == 0: raise KeyError(i)\n        n += 1\n    except KeyError as e:\n        n -= e.args[0] % 3\n    finally:\n        n += 1\nprint(n)",
    "hot_generators": "def g(n):\n    for i in range(n):\n        x = yield i\nprint(sum(v for v in g(20000)), sum(map(lambda q: abs(q), g(3000))))",
    "hot_closures": "def make(k):\n    def inner(x):\n        y = x * k\n        return y\n    return inner\nfs = [make(k) for k in range(50)]\nprint(sum(f(i) for i in range(500) for f in fs))",
    "while_else": "i = 0\nwhile i < 3000:\n    i += 1\n    if i == 5000: break\nelse:\n    print('else', i)\nfor j in range(10):\n    if j == 5: break\nelse:\n    print('never')",
    "match_statement": "def f(x):\n    match x:\n        case {'a': v}: return v\n        case [p, *q]: return q\n        case _: return None\nprint(f({'a': 1}), f([1, 2]), f(3), sum(1 for i in range(5000) if f([i, i])))",
    "global_nonlocal": "c = 0\ndef f():\n    global c\n    d = 0\n    def g():\n        nonlocal d\n        d += 1\n    g()\n    c += d\nfor _ in range(5000): f()\nprint(c)",
    "walrus_comprehension": "print([y := 1, y**2], [z for x in range(3) if (z := x * 2)], z)",
    "class_body_order": "class A:\n    x = 1\n    y = [x for _ in range(2)] if False else x\n    def f(self): return self.y\nprint(list(k for k in vars(A) if not k.startswith('__')))",
    "decorators": "import functools\ndef d(f):\n    @functools.wraps(f)\n    def w(*a):\n        r = f(*a)\n        return r\n    return w\n@d\ndef f(x): return x + 1\nprint(f(1), f.__wrapped__.__code__.co_firstlineno)",
    "two_lambdas_cloudpickle": "import cloudpickle\nf, g = cloudpickle.loads(cloudpickle.dumps((lambda a: abs(a), lambda a: abs(a) + 1)))\nprint(f(-1), g(-1))",
    "logging_own_error": "import logging, sys\nlogging.basicConfig(stream=sys.stdout, format='%(filename)s:%(lineno)d %(funcName)s %(message)s')\ntry:\n    {}['a']\nexcept KeyError:\n    logging.exception('skipped')\nlogging.warning('x', stack_info=True)",
    "type_of_streams": "import sys\nprint(type(sys.stdout).__name__, sys.stdout is sys.__stdout__, sys.displayhook is sys.__displayhook__, sys.excepthook is sys.__excepthook__)",
    "no_trace_no_profile": "import sys, threading\nprint(sys.gettrace(), sys.getprofile(), threading.active_count(), threading.current_thread().name)",
    "gc_untouched": "import gc\nprint(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.callbacks)",
    "limits_untouched": "import sys, signal\nprint(sys.getrecursionlimit(), sys.getswitchinterval(), signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGPIPE))",
    "flags": "import sys\nprint(sys.flags.optimize, sys.flags.interactive, sys.warnoptions, sys.dont_write_bytecode)",
}

BESIDE: dict[str, Beside] = {
    "argv": Beside(argv=("main.py", "--epochs", "3", "-m", "--format", "x y")),
    "stdin": Beside(stdin="some lines\nof input\n"),
    "pdb_commands": Beside(stdin="w\nn\np z\nc\n"),
}

# What is typed into programs of the folder `looking`.
TYPED = {"stdin_interactive": "one\ntwo\n6 * 7\n", "stdin_loops": "Ada\nline two\nthird\nrest\nof it\n"}

# Programs of several files, or started in another way.
ARRANGED: dict[str, Beside] = {
    "folder": Beside(
        {
            "app/__main__.py": "import sys, os, helper\nprint(__name__, repr(__package__), __spec__.name, os.path.basename(sys.path[0]),"
            " os.path.basename(sys.argv[0]), helper.x, os.path.relpath(__file__))",
            "app/helper.py": "x = 1\n",
        },
        ("app",),
    ),
    "zipapp": Beside(
        {
            "__main__.py": "import sys, os, helper\nprint(__name__, repr(__package__), __spec__.name, os.path.basename(sys.path[0]), helper.x)\nraise ValueError(1)",
            "helper.py": "x = 1\n",
        },
        ("app.pyz", "a"),
        archive="app.pyz",
    ),
    "module": Beside(
        {
            "pack/__init__.py": "",
            "pack/work.py": "import sys, os, inspect\nfrom . import other\nprint(__name__, __package__, __spec__.name, os.path.relpath(sys.argv[0]), sys.path[0] == os.getcwd(), other.x, len(inspect.stack()))",
            "pack/other.py": "x = 2\n",
        },
        ("-m", "pack.work", "a"),
    ),
    "package_main": Beside(
        {"pack/__init__.py": "print('init')\n", "pack/__main__.py": "import sys\nprint(__package__, sys.argv[1:])\n"},
        ("-m", "pack", "b"),
    ),
    "module_import_error": Beside({"work.py": "import nothing_like_this\n"}, ("-m", "work")),
    "module_syntax_error": Beside({"work.py": "x = = 1\n"}, ("-m", "work")),
    "module_raises": Beside({"work.py": "def f():\n    raise ValueError('deep')\nf()\n"}, ("-m", "work")),
    "imported_syntax_error": Beside({"main.py": "import bad\n", "bad.py": "def f(:\n    pass\n"}),
    "imported_raises": Beside({"main.py": "import bad\n", "bad.py": "def f():\n    raise ValueError('bad')\nf()\n"}),
    "imported_error_caught": Beside(
        {
            "main.py": "import traceback\ntry:\n    import bad\nexcept ValueError:\n    print(traceback.format_exc())\n",
            "bad.py": "raise ValueError('bad')\n",
        }
    ),
    "import_system": Beside(
        {
            "main.py": "import helper, importlib\nprint(type(helper.__loader__).__name__, type(helper.__spec__.loader).__name__, helper.__cached__ is not None, helper.x)\n"
            "importlib.reload(helper)\nprint(helper.__spec__.origin == helper.__file__)\nimport os\nprint(sorted(os.listdir('__pycache__')))",
            "helper.py": "x = 1\n",
        }
    ),
    "plugin_by_path": Beside(
        {
            "main.py": "import importlib.util as u\ns = u.spec_from_file_location('plug', 'plug.py')\nm = u.module_from_spec(s)\ns.loader.exec_module(m)\nprint(m.f(2), type(s.loader).__name__)",
            "plug.py": "def f(x):\n    y = x + 1\n    return y\n",
        }
    ),
    "through_link": Beside(
        {
            "real/sub/empty.txt": "",
            "real/x.py": "import os, sys\nprint(os.path.basename(os.path.dirname(sys.path[0])) , os.path.basename(sys.path[0]), __file__.split('/')[-3:])",
            "x.py": "print('the wrong one')\n",
        },
        ("link/../x.py",),
        {"link": "real/sub"},
    ),
    "script_is_link": Beside(
        {
            "real/x.py": "import os, sys, near\nprint(os.path.basename(sys.path[0]), os.path.basename(__file__), near.y)",
            "real/near.py": "y = 3\n",
        },
        ("x.py",),
        {"x.py": "real/x.py"},
    ),
    "reload_often": Beside(
        {
            "main.py": "import importlib, mod\nfor i in range(60): importlib.reload(mod)\nprint(mod.f(3))",
            "mod.py": "def f(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\nf(50)\n",
        }
    ),
    "runpy_own": Beside(
        {
            "main.py": "import runpy\nprint(sorted(k for k in runpy.run_path('part.py') if not k.startswith('__')))",
            "part.py": "a = 1\ndef f(): return a\n",
        }
    ),
    **{
        f"local_{name}": Beside({"main.py": f"import {name}\nprint({name}.mine)\n", f"{name}.py": "mine = 'local'\n"})
        for name in (
            "argparse",
            "ast",
            "array",
            "bisect",
            "dataclasses",
            "inspect",
            "opcode",
            "json",
            "logging",
            "textwrap",
            "shutil",
            "tempfile",
            "rich",
            "linecache",
            "queue",
            "platform",
        )
    },
}
