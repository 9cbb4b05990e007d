"""Verify that every case in a folder does what its truth.json says.

    python check.py [--subprocess] cases-folder [case-id ...]

Scripts run in children forked from a process that has imported torch already
(fast); with --subprocess every run is a fresh interpreter (slow).  Cases whose
truth.json says "slow" always get a fresh interpreter.

For each case folder the script runs

  1. buggy.py as it is: it must raise the declared error, with the innermost
     frame of user code on the declared line (or end cleanly where the
     declared error is "none");
  2. fixed.py: it must end cleanly;
  3. buggy.py again under a probe that watches every call into the autograd
     engine.  The probe shows that the call on "first_backward" really freed
     nodes the failing call walks into again, and that the statement on
     "built_line" is on the forward stack of the node where the second walk
     enters the freed part.  For silent cases the probe shows that the defect
     is there in buggy.py and gone in fixed.py.

Exit status 0 only if every case passes.
"""
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
import warnings
import tempfile
import traceback

sys.dont_write_bytecode = True

MESSAGES = {
    "second_backward": "Trying to backward through the graph a second time",
    "inplace": "has been modified by an inplace operation",
    "no_grad": "does not require grad and does not have a grad_fn",
    "ddp_ready_twice": "Expected to mark a variable ready only once",
}
FIX_KINDS = {"combine_losses", "remove_duplicate", "recompute_forward", "detach_state", "detach_input",
             "item_for_logging", "retain_graph", "remove_retain", "create_graph", "reorder_step", "zero_grad",
             "remove_detach", "out_of_place", "batch_samples", "rebuild_optimizer", "none"}
KEYS = {"id", "class", "source", "error", "built_line", "first_backward", "second_backward", "bridge", "fix_kind",
        "also_ok", "notes"}
OPTIONAL = {"names", "modified_line", "built_region", "prints", "probe", "slow"}
SECONDS, SECONDS_SLOW = 5.0, 30.0  # on top of importing torch
FRESH, IMPORT_SECONDS = False, 0.0


# --------------------------------------------------------------------- probe
def under(root, name):
    """The path of a file relative to the case, or None for a file of somebody else."""
    name, root = os.path.abspath(name), os.path.abspath(root)
    return os.path.relpath(name, root) if name.startswith(root + os.sep) else None


def user_frame(root):
    f = sys._getframe(1)
    while f is not None:
        name = under(root, f.f_code.co_filename)
        if name:
            return [name, f.f_lineno]
        f = f.f_back
    return None


def user_stack(root):
    f, out = sys._getframe(1), []
    while f is not None:
        name = under(root, f.f_code.co_filename)
        if name:
            out.append([name, f.f_lineno])
        f = f.f_back
    return out


def tensors_of(x):
    import torch
    if isinstance(x, torch.Tensor):
        return [x]
    return [t for t in x if isinstance(t, torch.Tensor)]


def node_of(t):
    import torch
    if t.grad_fn is not None:
        return t.grad_fn
    if t.requires_grad:
        return torch.autograd.graph.get_gradient_edge(t).node
    return None


def reach(roots):
    """All nodes under roots, plus the parents by which each was met."""
    seen, parents, todo = {}, {}, [n for n in roots if n is not None]
    for n in todo:
        parents.setdefault(id(n), [])
    while todo:
        n = todo.pop()
        if id(n) in seen:
            continue
        seen[id(n)] = n
        for nxt, _ in n.next_functions:
            if nxt is not None:
                parents.setdefault(id(nxt), []).append(n)
                todo.append(nxt)
    return seen, parents


def only_towards(seen, goals):
    """Nodes of seen from which one of goals can be reached."""
    good = set(id(g) for g in goals if g is not None)
    changed = True
    while changed:
        changed = False
        for i, n in seen.items():
            if i not in good and any(nx is not None and id(nx) in good for nx, _ in n.next_functions):
                good.add(i)
                changed = True
    return {i: n for i, n in seen.items() if i in good}


def stack_of(node, root):
    out = []
    meta = getattr(node, "metadata", None) or {}
    for entry in meta.get("traceback_", []):
        for m in re.finditer(r'File "([^"]+)", line (\d+)', entry):
            name = under(root, m.group(1))
            if name:
                out.append([name, int(m.group(2))])
    return out


def probe(path):
    """Run one script, print a JSON record of what autograd did."""
    import gc
    import torch
    root = os.path.dirname(os.path.abspath(path))
    script = os.path.abspath(path)
    rec = {"calls": [], "steps": [], "error": None, "graph_sizes": [], "retained": [], "stdout_tail": ""}
    freed, retained = {}, {}
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    engine = torch.autograd._engine_run_backward

    def watched(t_outputs, *args, **kwargs):
        where = user_frame(root)
        keep = bool(args[1]) if len(args) > 1 else False
        inputs = args[3] if len(args) > 3 else ()
        seen, parents = reach([node_of(t) for t in tensors_of(t_outputs)])
        if inputs:
            seen = only_towards(seen, [node_of(t) for t in tensors_of(inputs)])
        seen = {i: n for i, n in seen.items() if type(n).__name__ != "AccumulateGrad"}
        call = {"line": where, "retain": keep}
        rec["calls"].append(call)
        for i in seen:
            if i in retained:
                retained[i][1]["reused"] = True
        over = {i: n for i, n in seen.items() if i in freed}
        if over:
            entry = [n for i, n in over.items() if not parents.get(i) or any(id(p) not in freed for p in parents[i])]
            call["freed_by"] = sorted({tuple(freed[i][1]) for i in over if freed[i][1]})
            call["entry_stacks"] = [stack_of(n, root) for n in entry]
            call["entry_names"] = [n.name() for n in entry]
            call["region"] = sorted({tuple(w) for n in over.values() for w in stack_of(n, root)})
        out = engine(t_outputs, *args, **kwargs)
        if keep:
            mark = {"line": where, "reused": False}
            for i, n in seen.items():
                retained[i] = (n, mark)
            rec["retained"].append(mark)
        else:
            for i, n in seen.items():
                freed.setdefault(i, (n, where))
        return out

    def stepped(optimizer, args, kwargs):
        rec["steps"].append(user_frame(root))
        live = [o for o in gc.get_objects() if issubclass(type(o), torch.Tensor) and o.grad_fn is not None]
        rec["graph_sizes"].append(len(reach([t.grad_fn for t in live])[0]))

    leak_only = os.environ.get("PROBE_KIND") in ("leak", "values")
    if not leak_only:
        torch.autograd._engine_run_backward = watched
    from torch.optim.optimizer import register_optimizer_step_post_hook
    register_optimizer_step_post_hook(stepped)
    sys.path.insert(0, root)
    sys.argv = [script]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            runpy.run_path(script, run_name="__main__")
        except Exception as exc:
            tb, last = exc.__traceback__, None
            while tb is not None:
                name = under(root, tb.tb_frame.f_code.co_filename)
                if name:
                    last = [name, tb.tb_lineno]
                tb = tb.tb_next
            rec["error"] = {"text": str(exc), "line": last}
        told = [str(w.message) for w in caught if "Traceback of forward call" in str(w.message)]
    rec["freed_stacks"] = [[where, stack_of(n, root)] for n, where in freed.values()]
    rec["forward_stack"] = []
    for text in told[-1:]:
        for m in re.finditer(r'File "([^"]+)", line (\d+)', text):
            name = under(root, m.group(1))
            if name:
                rec["forward_stack"].append([name, int(m.group(2))])
    sys.stderr.write("\n@@PROBE@@" + json.dumps(rec) + "\n")


def probe_writes(path):
    """Run one script, print which write overwrote a saved value that a pass then wanted."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    root, script = os.path.dirname(os.path.abspath(path)), os.path.abspath(path)
    clock, writes, found, alive = [0], {}, {}, []

    class Writes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            for spec, arg in zip(func._schema.arguments, args):
                if spec.alias_info is not None and spec.alias_info.is_write:
                    for t in tree_leaves(arg):
                        if isinstance(t, torch.Tensor):
                            clock[0] += 1
                            alive.append(t)
                            where = user_frame(root)
                            writes.setdefault(t.untyped_storage()._cdata, []).append((clock[0], where))
            return func(*args, **(kwargs or {}))

    def pack(t):
        return t, t._version, clock[0], user_stack(root)

    def unpack(saved):
        t, version, at, stack = saved
        if t._version != version:
            after = [w for c, w in writes.get(t.untyped_storage()._cdata, []) if c > at]
            found.update(built=stack, written=after, text=repr(tuple(t.shape)))
            raise RuntimeError("has been modified by an inplace operation")
        return t

    sys.path.insert(0, root)
    sys.argv = [script]
    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack), Writes():
            runpy.run_path(script, run_name="__main__")
    except Exception as exc:
        found["error"] = str(exc)
    sys.stderr.write("\n@@PROBE@@" + json.dumps(found) + "\n")


class Done:
    def __init__(self, returncode, stdout, stderr):
        self.returncode, self.stdout, self.stderr = returncode, stdout, stderr


def in_child(job):
    """Run job() in a forked child; give back its status and output."""
    import torch._dynamo  # noqa: F401  (optimisers import it on their first step)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.stdout = open(1, "w", closefd=False)
                sys.stderr = open(2, "w", closefd=False)
                try:
                    job()
                    code = 0
                except BaseException:
                    traceback.print_exc()
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)
        deadline, status = time.time() + 60, None
        while status is None:
            got, st = os.waitpid(pid, os.WNOHANG)
            if got:
                status = st
            elif time.time() > deadline:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                status = 1
                err.seek(0, 2)
                err.write("\nstopped after 60 seconds\n")
                err.flush()
            else:
                time.sleep(0.01)
        out.seek(0)
        err.seek(0)
        return Done(status, out.read(), err.read())


def run_probe(case, script, kind="", fresh=False):
    os.environ["PROBE_KIND"] = kind or ""
    path = os.path.join(case, script)
    if kind == "writes":
        p = in_child(lambda: probe_writes(path))
        return json.loads(p.stderr.rsplit("@@PROBE@@", 1)[1])
    if FRESH or fresh:
        p = subprocess.run([sys.executable, os.path.abspath(__file__), "--probe", path], capture_output=True, text=True)
    else:
        p = in_child(lambda: probe(path))
    if "@@PROBE@@" not in p.stderr:
        raise AssertionError("probe gave no record: " + p.stderr[-400:])
    return json.loads(p.stderr.rsplit("@@PROBE@@", 1)[1])


# --------------------------------------------------------------------- checks
def run_plain(case, script, fresh=False):
    t0 = time.time()
    if FRESH or fresh:
        p = subprocess.run([sys.executable, "-B", script], cwd=case, capture_output=True, text=True)
        return p, time.time() - t0 - IMPORT_SECONDS

    def job():
        os.chdir(case)
        sys.path.insert(0, os.getcwd())
        sys.argv = [script]
        runpy.run_path(script, run_name="__main__")

    p = in_child(job)
    return p, time.time() - t0


def innermost(case, stderr):
    """Innermost traceback line inside the case folder."""
    last = None
    for m in re.finditer(r'File "([^"]+)", line (\d+)', stderr):
        name = m.group(1)
        name = under(case, name if os.path.isabs(name) else os.path.join(case, name))
        if name:
            last = [name, int(m.group(2))]
    return last


def line_text(case, where):
    with open(os.path.join(case, where[0])) as f:
        return f.read().split("\n")[where[1] - 1].strip()


def check_case(case, quiet_stack=False):
    bad = []

    def need(ok, text):
        if not ok:
            bad.append(text)

    with open(os.path.join(case, "truth.json")) as f:
        truth = json.load(f)
    need(KEYS <= set(truth) and set(truth) <= KEYS | OPTIONAL, "keys of truth.json")
    need(truth["id"] == os.path.basename(os.path.abspath(case)), "id is not the folder's name")
    need(truth["fix_kind"] in FIX_KINDS and set(truth["also_ok"]) <= FIX_KINDS, "unknown fix kind")
    raised = truth["second_backward"]  # a list of places where the outer call is as right as the inner
    raised = raised if raised and isinstance(raised[0], list) else [raised]
    kind, negative = truth["error"], truth["class"] == "negative"
    need(kind in MESSAGES or kind == "none", "unknown error kind")
    for fn in sorted(os.path.relpath(os.path.join(d, n), case) for d, _, names in os.walk(case) for n in names):
        if fn.endswith(".py"):
            with open(os.path.join(case, fn)) as f:
                src = f.read()
            need(not re.search(r"[\"']/\w+/", src), fn + ": absolute path")
            compile(src, fn, "exec")
    slow = bool(truth.get("slow"))
    limit = SECONDS_SLOW if slow else SECONDS

    p, took = run_plain(case, "buggy.py", slow)
    need(took < limit, "buggy.py took %.1f s" % took)
    if kind == "none":
        need(p.returncode == 0, "buggy.py failed: " + p.stderr[-300:])
    else:
        need(p.returncode != 0 and MESSAGES[kind] in p.stderr, "buggy.py: wrong or no error: " + p.stderr[-300:])
        where = innermost(case, p.stderr)
        need(where == raised[0], "raises at %s, declared %s" % (where, truth["second_backward"]))
    q, took_f = run_plain(case, "fixed.py", slow)
    need(took_f < limit, "fixed.py took %.1f s" % took_f)
    need(q.returncode == 0, "fixed.py failed: " + q.stderr[-300:])
    need("Error" not in q.stderr, "fixed.py complains: " + q.stderr[-300:])

    stack = []
    if negative:
        need(truth["fix_kind"] == "none" and not truth["bridge"], "negative case with a fix or a bridge")
        with open(os.path.join(case, "buggy.py")) as a, open(os.path.join(case, "fixed.py")) as b:
            need(a.read() == b.read(), "negative case: fixed.py differs")
        return bad, stack

    for key in ("built_line",):
        need(truth[key] and line_text(case, truth[key]), key + " missing")
    need(truth["bridge"] and truth["fix_kind"] != "none", "no bridge or fix kind")
    if bad:
        return bad, stack

    if kind in ("second_backward", "ddp_ready_twice", "inplace"):
        rec = run_probe(case, "buggy.py", fresh=slow)
        need(rec["error"] is not None and MESSAGES[kind] in rec["error"]["text"], "no such error under the probe")
        if rec["error"] is None:
            return bad, stack
        need(rec["error"]["line"] == raised[0], "probe: raises at %s" % rec["error"]["line"])
        lines = [c["line"] for c in rec["calls"]]
        if kind != "inplace" or truth["first_backward"]:
            need(truth["first_backward"] in lines, "first_backward never called")
    if kind == "second_backward":
        failing = [c for c in rec["calls"] if c["line"] in raised][-1:]
        if failing:
            failing = failing[0]
            need(tuple(truth["first_backward"]) in [tuple(x) for x in failing.get("freed_by", [])],
                 "first_backward did not free what fails: %s" % failing.get("freed_by"))
            stacks, region = failing.get("entry_stacks", []), failing.get("region", [])
        else:  # no pass: a freed node's saved values were read directly
            stacks = [s for where, s in rec["freed_stacks"] if where == truth["first_backward"]]
            region = sorted({tuple(w) for s in stacks for w in s})
        need([s for s in stacks if truth["built_line"] in s],
             "built_line not on the forward stack of the freed part: %s" % stacks)
        for where in truth.get("built_region", []):
            need(tuple(where) in [tuple(x) for x in region], "built_region: %s not in the freed part" % where)
        stack = region
    if kind == "inplace":
        need(truth["built_line"] in rec["forward_stack"], "built_line not on the failing node's forward stack: %s" % rec["forward_stack"])
        for where in truth.get("built_region", []):
            need(where in rec["forward_stack"], "built_region: %s not on the forward stack" % where)
        stack = rec["forward_stack"]
        seen = run_probe(case, "buggy.py", "writes")
        written = truth["modified_line"]
        written = written if isinstance(written[0], list) else [written]
        need(all(w in seen.get("written", []) for w in written), "modified_line did not write to what is missed: %s" % seen)
        need(truth["built_line"] in seen.get("built", []), "built_line did not save what is missed: %s" % seen)
        step = all(w in rec["steps"] for w in written)
        need(step or "stepped-before-backward" not in truth["names"] or truth["class"] == "inplace_parameter", "modified_line is no optimiser step: %s" % rec["steps"])
    if kind == "no_grad":
        need(re.search(r"detach|no_grad|inference_mode|\.item|\.data|requires_grad|torch\.tensor\(|numpy|tolist|float\(|argmax|round|enable_grad|grad_enabled|deepcopy|\.long\(|\.bool\(| [<>] |as_tensor|checkpoint\(|autograd\.grad\(", line_text(case, truth["built_line"])),
             "built_line does not cut a graph")
    if kind == "none":
        probe_kind = truth.get("probe")
        a, b = run_probe(case, "buggy.py", probe_kind), run_probe(case, "fixed.py", probe_kind)
        need(a["error"] is None and b["error"] is None, "error under the probe")
        if probe_kind == "leak":
            ga, gb = a["graph_sizes"], b["graph_sizes"]
            need(ga[-1] > 4 * max(gb[-1], 1) and ga[-1] > 1.5 * ga[len(ga) // 2], "graph does not grow: %s" % ga)
            need(max(gb) < 4 * max(gb[0], 1), "fixed.py still grows: %s" % gb)
        elif probe_kind == "retain":
            idle = [m for m in a["retained"] if not m["reused"]]
            need(idle and len(idle) == len(a["retained"]), "a retained graph is used again")
            need(not b["retained"], "fixed.py still retains")
        elif probe_kind == "values":
            need(p.stdout != q.stdout, "buggy.py and fixed.py print the same numbers")
        else:
            need(False, "silent case without a probe")
    return bad, stack


def main(argv):
    global FRESH, IMPORT_SECONDS
    if len(argv) == 3 and argv[1] == "--probe":
        return probe(argv[2])
    if len(argv) > 1 and argv[1] == "--subprocess":
        FRESH = True
        del argv[1]
        t0 = time.time()
        subprocess.run([sys.executable, "-c", "import torch._dynamo"])
        IMPORT_SECONDS = time.time() - t0
    if len(argv) < 2:
        print(__doc__)
        return 2
    folder, only = argv[1], set(argv[2:])
    names = sorted(n for n in os.listdir(folder) if os.path.exists(os.path.join(folder, n, "truth.json")))
    names = [n for n in names if not only or n in only]
    failures = 0
    for name in names:
        try:
            bad = check_case(os.path.join(folder, name))[0]
        except Exception as exc:
            bad = ["the check itself failed: %r" % exc]
        failures += bool(bad)
        print(("FAIL " if bad else "ok   ") + name)
        for b in bad:
            print("       - " + b)
        sys.stdout.flush()
    print("%d cases, %d failing" % (len(names), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
