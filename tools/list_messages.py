"""Lists what torch can say about graphs, leaves and gradients, and which page explains it.

    python tools/list_messages.py            # write docs/messages.md from the installed torch
    python tools/list_messages.py --check    # exit status 1 where the installed torch says something that is not listed

Read are the texts inside torch's libraries, and what its Python files raise or warn.
"""

from __future__ import annotations

import argparse
import ast
import json
import mmap
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from afterward import messages

PAGE = Path(__file__).parent.parent / "docs" / "messages.md"
MEASURED = Path(__file__).with_name("measured_messages.md")  # a part of that page
LIBRARIES = ("libtorch_python.so", "libtorch_cpu.so", "libc10.so")
PYTHON = (
    "autograd/__init__.py", "autograd/anomaly_mode.py", "autograd/forward_ad.py", "autograd/function.py",
    "autograd/functional.py", "autograd/graph.py", "_tensor.py", "utils/checkpoint.py", "utils/hooks.py",
    "optim/optimizer.py", "optim/lbfgs.py", "optim/lr_scheduler.py", "nn/modules/module.py",
    "nn/parallel/distributed.py", "optim/adagrad.py", "optim/adam.py", "optim/adamax.py", "optim/adadelta.py",
    "optim/asgd.py", "optim/nadam.py", "optim/radam.py", "optim/rmsprop.py", "optim/rprop.py", "optim/sgd.py",
    "optim/sparse_adam.py", "optim/_adafactor.py", "optim/_muon.py", "optim/swa_utils.py", "cuda/graphs.py",
    "nn/modules/linear_cross_entropy.py", "nn/attention/flex_attention.py", "nn/functional.py", "_lobpcg.py",
    "nn/utils/parametrize.py", "nn/parameter.py", "nn/modules/lazy.py", "autograd/gradcheck.py",
    "nn/utils/clip_grad.py", "amp/grad_scaler.py", "multiprocessing/reductions.py", "_functorch/eager_transforms.py",
    "_functorch/autograd_function.py", "_functorch/vmap.py",
)  # fmt: skip

_RUN = re.compile(rb"[\x20-\x7e\n]{24,}")
_ABOUT = re.compile(
    r"autograd|backward\b|grad_fn|requires?[ _]grad|\bleaf\b|\bgradients?\b|in-?place\b|\bviews?\b.*\b(of|was|is)\b|"
    r"hook .*(returned|changed)|saved (tensor|variable)|inference (tensor|mode)|version counter|retain_graph|"
    r"parameter group|deepcopy|checkpoint|not (infinitely )?differentiable|incorrect number of (values|outputs)|"
    r"different than None|forward (in|out)put was not|"
    r"\bVariable or None|mark_dirty|mark_non_differentiable|double backwards?\b|derivative of\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[a-z]+ [a-z]+ [a-z]+", re.IGNORECASE)
_CODE = re.compile(
    r"^\s*(return\b|def\b|#|//|>>>|import|\.\.\.|:meth|:class|Example|Args|%|[\w:]+\()|-> |Tensor self|\$|@|;\n|"
    r"\bT\d?:|\bnodes?_\*|``|::meth|aten::|operator\(\)|std::|c10::|^\s{4,}"
)
_ASSERTION = "INTERNAL ASSERT FAILED"
UNEXPLAINED = "not looked at"  # a test asks that no text is left so
_PIECE = 16  # characters of a piece that tell a message
# A library holds a long message in pieces; these do not stand in the page's own line: (what tells it, the page).
PARTS = (
    (
        r"view of a view which was created|base or another view of its base|modified inplace with grad mode|"
        r"inside the no_grad block",
        "view-of-no-grad-written",
    ),
    (r"inside the inference_mode block", "view-of-inference-written"),
    (r"^Hint: enable anomaly detection", "saved-value-overwritten"),
    (
        r"reentrant backward|marked as ready twice|concurrent forward-backward|multiple 'checkpoint' functions|"
        r"unused parameter becomes|show up unexpectedly|participate in the backward pass",
        "ready-twice",
    ),
    (r"Function's forward is a view|modifies inplace an input that is a view", "view-of-custom-function-written"),
    (r"of gradients tuple", "gradients-not-one-each"),
    (r"of the input tensors does not require grad", "input-needs-no-gradient"),
)
# What is said, and is not about the life of graphs, leaves and gradients of a program: (what tells it, why).
REASONS = (
    (
        r"BUG|please (report|file|open an issue)|report a bug|should not be|should never|internal error",
        "an error of torch itself",
    ),
    (
        r"dist(ributed)?[_ ]?autograd|\brpc\b|RRef|context id|worker id|DistAutograd|autograd context",
        "distributed autograd over RPC",
    ),
    (
        r"jvp|forward[- ](mode|grad|AD|gradient)|dual (tensor|level|number)|tangent|make_dual",
        "forward-mode differentiation",
    ),
    (
        r"vmap|functorch|func\.|jacobian|hessian|vjp|hvp|vhp|jacrev|linearize|transform",
        "a requirement of torch.func on its arguments",
    ),
    (r"\bjit\b|TorchScript|trac(e|ing)|script|symbolic|differentiable graph|autodiff", "TorchScript and tracing"),
    (r"onnx|opset|\"X\"|optimized tensors|ADAGRAD|Nesterov", "the documentation of ONNX operators"),
    (
        r"mkldnn|dnnl|onednn|xnnpack|winograd|MKL|channels last|primitive|cudnn|miopen|mps|cuda|vulkan|xpu|hpu",
        "a device library",
    ),
    (r"created from \.data or|storage_offset", "the storage of a tensor, not its graph"),
    (r"fork-based", "processes and threads"),
    (r"sparse|coalesce|csr|bsr", "sparse gradients"),
    (r"quantiz|qscheme|observer|fake_quant", "quantization"),
    (r"nested tensor|NestedTensor|ragged|Nested Strided", "nested tensors"),
    (
        r"dynamo|inductor|compiled autograd|aot|functionaliz|guard|export|recompil|cache miss|symint",
        "the compiler itself",
    ),
    (r"DDP|bucket|reducer|allreduce|process group|comm hook|rank", "DDP's own options and bookkeeping"),
    (
        r"scheduler|learning rate|last_epoch|lr_lambda|milestones|gamma|initial_lr|T_max|factor",
        "learning-rate schedules",
    ),
    (
        r"hooks? (should|must|that|expected|to be|already)|backward_hook|full backward|pre-hook|prepend",
        "how hooks are registered",
    ),
    (
        r"pool|conv|interpolate|grid_sample|upsampl|padding|kernel|embedding|attention|loss|norm|dropout|rnn|lstm",
        "one operation's arguments",
    ),
    (r"profil|kineto|observer|trace|flops|benchmark", "the profiler"),
    (r"dispatch|kernel registered|DispatchKey|schema|operator|library", "how operators are registered"),
    (r"storage|allocator|device|pin(ned)? memory|stream|event", "memory and devices"),
    (r"buffer|state[_ ]dict|load|save|pickle|serializ|unpickl|deepcopy", "saving and loading"),
    (r"param_groups|parameter group|optimizer|step_size|closure|momentum|weight_decay", "options of optimizers"),
    (r"&lt;br>|<br>|BRANCH_|leaf (values|contributes)|weight for each leaf|half_pixel|slice|numpy|"
     r"attribute \"y\"|Default to|"
     r"optional value|can be inplace|Coefficient|1-D tensor", "documentation inside the library, never raised"),
    (r"^After |^Running |graph\(?$|DORGQL|embedded backward block|Number of unknowns|inplace version of|"
     r"In-place input|"
     r"Neither opaque|inplace computation|autograd bindings|Hooks for compiling|initialization failed|emit inplace",
     "no message: a log line or a piece of code"),
    (r"grad_dtype|grad_variables|only_inputs|volatile|legacy|deprecated|asarray", "options and their old names"),
    (r"hook|callback", "how hooks are registered"),
    (r"must be a|should return|should be|expects? a|expected|not a Tensor|'dict'|too long|specified twice|"
     r"has to be|must return|"
     r"must implement|to be a|only accepts|incorrect number of values", "an argument of the wrong type"),
    (r"checkpoint", "options of checkpoints"),
    (r"_\w+\(|_get_|_will_|_current_|_compiled_|_set_|_unsafe|autograd_meta|undefined tensor|version_counter|"
     r"view info|view_func|"
     r"creation_meta|attr_version|non-backward view|SavedVariable|graph task|GradientEdge|gradient edge|"
     r"anomaly metadata|grad_fn",
     "private or advanced functions of torch"),
    (r"DataParallel", "the replicas of DataParallel"),
    (r"view size|View is not valid|contiguous|layout|uint8|complex tensors|dtype:|spacing|edge_order|"
     r"torch\.gradient|resize|symeig|"
     r"transposition|scaling the gradient|negative slope", "one operation's arguments"),
    (r"meta tensor|GIL|threads?\b|tensor count|partition", "memory and devices"),
    (r"requires grad as a (scalar|constant)|making it a parameter|in-place operation \(|updated value|"
     r"gradient function|view chain",
     "TorchScript and tracing"),
    (r"Rpc|autograd message|autogradContext", "distributed autograd over RPC"),
    (r"can't replace an? (None|empty) gradient", "how hooks are registered"),
    (r"region_activation|boxed_grads|autograd functions, see|defer and flush", "the compiler itself"),
    (r"did not get gradient|not compute gradients|not set on root|have requires_grad True", "TorchScript and tracing"),
    (r"No tensors provided|__setstate__|DTensor|already a gradient with dtype", "an argument of the wrong type"),
    (r"reuse an out tensor", "memory and devices"),
    (r"lobpcg|allow_retain_graph", "one operation's arguments"),
    (r"_foreach ops|differentiable mode", "options of optimizers"),
    (
        r"batched gradients|undefined gradient support|(Analytical|Numerical) gradient|reentrant, i\.e\.|"
        r"multiplied by grad_output|Gradient has dtype mismatch|a double precision floating point",
        "what `gradcheck` finds in a function that it tests",
    ),
    (r"strict mode|twice differentiable|higher-order gradient", "a requirement of torch.func on its arguments"),
)  # fmt: skip


def in_libraries(folder: Path, names: tuple[str, ...]) -> Iterator[str]:
    """Every printable run of these libraries."""
    for name in names:
        path = folder / "lib" / name
        if not path.exists():
            continue
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            for match in _RUN.finditer(whole):
                yield match[0].decode("ascii")


def in_python(folder: Path) -> Iterator[str]:
    """What Python files raise or warn; `...` stands for what is put in."""
    for name in PYTHON:
        path = folder / name
        if not path.exists():
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = node.exc if isinstance(node, ast.Raise) else node
            said = isinstance(node, ast.Raise) or (
                isinstance(call, ast.Call) and ast.unparse(call.func).endswith("warn")
            )
            if said and isinstance(call, ast.Call) and call.args:
                yield _text(call.args[0])


def _text(expression: ast.expr) -> str:
    if isinstance(expression, ast.Constant):
        return str(expression.value)
    if isinstance(expression, ast.JoinedStr):
        return "".join(_text(part) for part in expression.values)
    if isinstance(expression, ast.BinOp):
        return _text(expression.left) + _text(expression.right)
    return messages.ANYTHING


def about_graphs(folder: Path, libraries: tuple[str, ...] = LIBRARIES) -> list[str]:
    """Every message about our subject, once, in order; torch's assertions about itself are left out."""
    found = set()
    for text in (*in_libraries(folder, libraries), *in_python(folder)):
        line = " ".join(text.split())
        if _ABOUT.search(line) and _SENTENCE.search(line) and not _CODE.search(text) and _ASSERTION not in line:
            found.add(line[:240])
    return sorted(found)


def verdict(text: str) -> tuple[str, str]:
    """(page, rules) of a message; or ("", why it has none)."""
    page = messages.find(text) or messages.find_part(text) or _page_of_fragment(text) or _page_of_part(text)
    if page is not None:
        return page.name, ", ".join(page.rules) or "page only"
    for pattern, why in REASONS:
        if re.search(pattern, text, re.IGNORECASE):
            return "", why
    return "", UNEXPLAINED


def _page_of_part(text: str) -> messages.Page | None:
    return next((messages.page_named(name) for pattern, name in PARTS if re.search(pattern, text)), None)


def _page_of_fragment(text: str) -> messages.Page | None:
    """A library holds a message in pieces, broken where a value is put in."""
    plain = text.lower()
    for page in messages.all_pages():
        for piece in (piece.strip().lower() for message in page.messages for piece in message.split(messages.ANYTHING)):
            if len(piece) >= _PIECE and piece in plain:
                return page
    return None


# Counted by hand: of a page's message, (threads that came back, how many show that very message). Those of 19 November
# 2026 stand in a file, with the addresses of the threads; those of the day before have none.
THREADS = json.loads(Path(__file__).with_name("reported_messages.json").read_text(encoding="utf-8"))
REPORTED = {name: (one["came"], len(one["show"])) for name, one in THREADS.items()} | {
    "checkpoint-returns-no-graph": (12, 3),
    "checkpoint-saved-another-shape": (10, 7),
    "checkpoint-saved-another-number": (10, 1),
    "create-graph-cycle": (10, 4),
    "custom-backward-count": (11, 9),
    "custom-function-not-static": (12, 12),
    "grad-of-leaf-is-none": (12, 10),
    "grad-of-non-leaf": (9, 8),
    "half-gradients-unscaled": (12, 12),
    "hook-misses-gradients": (12, 10),
    "hook-without-grad": (12, 4),
    "inference-tensor-saved": (8, 7),
    "input-not-in-the-graph": (12, 10),
    "integer-requires-grad": (11, 10),
    "leaf-written-in-place": (12, 6),
    "loss-not-scalar": (12, 11),
    "loss-of-another-dtype": (11, 7),
    "loss-without-graph": (12, 12),
    "non-leaf-copied": (12, 8),
    "non-leaf-optimized": (11, 8),
    "non-leaf-sent": (12, 3),
    "nothing-to-optimize": (12, 12),
    "numpy-of-a-graph-tensor": (12, 12),
    "one-of-several-views-written": (11, 6),
    "parameter-in-two-groups": (10, 6),
    "parameter-twice-in-a-group": (11, 6),
    "ready-twice": (11, 11),
    "recurrent-layer-in-eval-mode": (12, 12),
    "requires-grad-of-non-leaf": (12, 8),
    "saved-tensor-detached-in-place": (12, 1),
    "saved-value-overwritten": (12, 12),
    "scaler-unscaled-twice": (8, 8),
    "scaler-without-gradients": (11, 11),
    "scheduler-before-optimizer": (12, 12),
    "second-backward": (12, 12),
    "selective-checkpoint-twice": (12, 1),
    "tensor-copied-from-a-tensor": (12, 12),
    "unfinished-reduction": (11, 11),
    "unused-parameters-not-found": (12, 2),
    "view-of-leaf-written-in-place": (12, 5),
    "assigned-gradient-of-another-size": (12, 0),
    "nan-in-backward": (12, 0),
}
# Looked for too, and without a page: (message, threads that came back, how many show it, why there is no page).
REPORTED_OTHERS = (
    (
        "is not allowed on a Tensor created from .data or .detach()", 12, 7,
        "the storage of a tensor, not its graph; `.data.set_()` and `.data.squeeze_()` no longer raise it",
    ),
    (
        "Unable to handle autograd's threading in combination with fork-based multiprocessing", 10, 5,
        "processes, not graphs; on the CPU a child process of this torch may call `backward()`",
    ),
)  # fmt: skip


def reported() -> list[str]:
    """How often messages are reported."""
    rows = sorted(REPORTED.items(), key=lambda row: (-row[1][1], row[0]))
    unsearched = [page.name for page in messages.all_pages() if page.name not in REPORTED]
    return [
        "## How often they are reported",
        "",
        "A search on 18 and 19 November 2026 for the text of a message in a stored copy of public issue threads (by",
        "meaning, one search a message; at most 12 come back), and how many of these show that very message, in",
        "their title or in the excerpt that was given; an older wording of it counts. A small sample: that a message",
        "is met often, not how often. Where threads are named, they are some of those that show it; the counts of",
        "18 November were kept without their addresses.",
        "",
        "| page | threads | show it | some of them |",
        "| --- | --- | --- | --- |",
        *(f"| {name} | {threads} | {shown} | {', '.join(_some_of(name))} |" for name, (threads, shown) in rows),
        "",
        f"Not searched for: {', '.join(unsearched)}." if unsearched else "All pages were searched for.",
        "",
        "Looked for as well, and without a page:",
        "",
        "| message | threads | show it | why |",
        "| --- | --- | --- | --- |",
        *(f"| `{text}` | {threads} | {shown} | {why} |" for text, threads, shown, why in REPORTED_OTHERS),
    ]


def _some_of(name: str) -> list[str]:
    """A few of the threads that show a message."""
    return THREADS[name]["show"][:3] if name in THREADS else []


def document(found: list[str], version: str) -> str:
    lines = [
        "# What autograd can say",
        "",
        f"Every message about graphs, leaves and gradients in torch {version}: texts of its libraries and of its",
        "Python files, listed by `python tools/list_messages.py`. `afterward explain MESSAGE` prints the page of one,",
        "without torch. Assertions of torch about itself are left out.",
        "",
        "## Explained",
        "",
        "| page | message | sentence | rules |",
        "| --- | --- | --- | --- |",
    ]
    for page in messages.all_pages():
        rules = ", ".join(page.rules) or "none: PyTorch warns and goes on"
        said = "<br>".join(f"`{_cell(message)}`" for message in page.messages)
        link = f"[{page.name}](../src/afterward/messages/pages/{page.name}.md)"
        lines.append(f"| {link} | {said} | {page.law} | {rules} |")
    lines += [
        "",
        *reported(),
        "",
        *MEASURED.read_text(encoding="utf-8").splitlines(),
        "",
        "## All texts",
        "",
        "| text | page, or why it has none |",
        "| --- | --- |",
    ]
    for text in found:
        name, why = verdict(text)
        lines.append(f"| {_cell(text)} | {f'**{name}**' if name else why} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("`", "'").replace("{", "(").replace("}", ")").strip()


def listed(page: str) -> set[str]:
    """The texts that a page lists."""
    rows = page.partition("## All texts")[2].splitlines()
    return {row.rpartition(" | ")[0].removeprefix("| ") for row in rows if row.startswith("| ")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; tell what is new")
    options = parser.parse_args()
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        print("torch is not installed", file=sys.stderr)
        return 2
    folder = Path(spec.submodule_search_locations[0])
    version = re.search(r"'([\d.]+)", (folder / "version.py").read_text(encoding="utf-8"))
    found = about_graphs(folder)
    if not options.check:
        PAGE.write_text(document(found, version[1] if version else "?"), encoding="utf-8")
        print(f"{len(found)} texts, {len(messages.all_pages())} pages")
        return 0
    known = listed(PAGE.read_text(encoding="utf-8"))
    new = [text for text in found if _cell(text) not in known]
    print("\n".join(new) or "nothing new")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
