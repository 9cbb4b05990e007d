"""Everything we use of torch that torch does not promise; `compiler` has what concerns `torch.compile`.

Each function answers None (or nothing) where this version of torch lacks the piece: a missing piece is a gap in
the record, never a broken run.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from math import prod
from typing import Any

from afterward.model.operations import ENDING, operation

LEAF_ORDER = 2**64 - 1  # AccumulateGrad nodes carry the largest uint64


def torch_module() -> Any:
    """The torch that the program has imported; never imported on our own account."""
    return sys.modules.get("torch")


def sequence_counter() -> Callable[[], int] | None:
    """Reads the thread's count of recorded nodes."""
    torch = torch_module()
    try:
        counter: Callable[[], int] = torch._C._autograd._get_sequence_nr
    except AttributeError:
        return None
    return counter


def counter_address() -> int | None:
    """Where the function lies that `sequence_counter` calls, for C; None where that cannot be told for sure."""
    torch, read = torch_module(), sequence_counter()
    if torch is None or read is None:
        return None
    try:
        import ctypes

        name = "libtorch_cpu.dylib" if sys.platform == "darwin" else "libtorch_cpu.so"
        library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", name), mode=os.RTLD_NOLOAD)
        peek = library["_ZN2at15sequence_number4peekEv"]  # at::sequence_number::peek()
        peek.restype = ctypes.c_uint64
        return ctypes.cast(peek, ctypes.c_void_p).value if peek() == read() else None
    except (ImportError, AttributeError, OSError, TypeError):
        return None


def outputs_of(node: Any) -> int:
    """How many outputs a node has; 0 where this torch does not tell, and it is not an operation of one."""
    told = getattr(node, "_input_metadata", None)
    if told is None:
        return int(operation(node.name()) in ENDING)
    return len(told)


def at_the_end_of_this_pass(function: Callable[[], None]) -> None:
    """From inside a pass: have this called once all its nodes have run."""
    torch_module().autograd.Variable._execution_engine.queue_callback(function)


def grad_fn_of(tensor: Any) -> Any:
    """The node behind a tensor, without waking a tensor subclass's `__torch_function__`.

    None for one of several views (as `for row in weight` gives) whose base was written to: torch refuses to tell.
    """
    torch = torch_module()
    with torch._C.DisableTorchFunctionSubclass():
        try:
            return torch.Tensor.grad_fn.__get__(tensor)
        except RuntimeError:
            return None


def is_tensor(thing: Any) -> bool:
    return issubclass(type(thing), torch_module().Tensor)


def is_container_of_modules(thing: Any) -> bool:
    """One whose items are what it has registered: of torch's own, or one that takes its items as they do."""
    nn = torch_module().nn
    kinds = (nn.ModuleList, nn.ModuleDict, nn.Sequential)
    spaces = (type.__dict__["__dict__"].__get__(kind) for kind in type.mro(type(thing)))
    taking = next((space["__getitem__"] for space in spaces if "__getitem__" in space), None)
    return any(taking is vars(kind)["__getitem__"] for kind in kinds)


def is_node(thing: Any) -> bool:
    """Is it a node of a graph? Nodes of built-in operations have no common class that Python can see."""
    kind = type(thing)
    return all(hasattr(kind, name) for name in ("next_functions", "_sequence_nr", "name"))


def custom_function_of(node: Any) -> Any:
    """The `autograd.Function` that a node was recorded for; None for an operation of torch's own."""
    return getattr(type(node), "_forward_cls", None)


def writes_no_backward(node: Any) -> bool:
    """Is it that of a custom function which has only its `forward`?"""
    base, function = torch_module().autograd.Function, custom_function_of(node)
    return function is not None and function.backward is base.backward and function.vjp is base.vjp


def is_differentiated(node: Any) -> bool:
    """Does it use the gradient of a function that may be differentiated once, for which a node stands that raises?"""
    return any(before is not None and before.name().endswith("::Error") for before, _ in node.next_functions)


def leaf_node_of(tensor: Any) -> Any:
    """The AccumulateGrad node of a leaf that needs gradients."""
    torch = torch_module()
    try:
        return torch.autograd.graph.get_gradient_edge(tensor).node
    except (AttributeError, RuntimeError):
        return None


def backward_entry() -> Any:
    """The one function that every `.backward()` and `autograd.grad()` goes through."""
    torch = torch_module()
    return getattr(torch.autograd.graph, "_engine_run_backward", None)


def output_shape(node: Any, output: int) -> tuple[int, ...] | None:
    """The shape of the value that a node made; None where this torch does not tell."""
    try:
        return tuple(int(length) for length in node._input_metadata[output].shape)
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
        return None


def capturing() -> bool:
    """Is a CUDA graph being captured? Reading a number then would spoil it."""
    cuda = sys.modules.get("torch.cuda")
    try:
        return bool(cuda is not None and cuda.is_initialized() and cuda.is_current_stream_capturing())
    except (AttributeError, RuntimeError):
        return False


def may_look() -> bool:
    """May operations of ours run now? Not while a CUDA graph is captured, and not where a profiler would count them."""
    torch = torch_module()
    try:
        return not capturing() and not torch._C._autograd._profiler_enabled() and not torch._C._is_tracing()
    except AttributeError:
        return not capturing()


_saved_names: dict[type, tuple[str, ...]] = {}


def _names_saved_by(kind: type) -> tuple[str, ...]:
    names = _saved_names.get(kind)
    if names is None:
        prefix = "_raw_saved_"
        names = tuple(name[len(prefix) :] for name in dir(kind) if name.startswith(prefix))
        _saved_names[kind] = names
    return names


def saved_states(node: Any) -> Iterator[tuple[str, str, Any]]:
    """(name, "live" | "freed" | "overwritten", tensor or None) for each tensor that a node saved.

    A tensor kept by a hook (checkpointing, offloading) is reported live and never unpacked: unpacking it would
    run the program's own code.
    """
    for name in _names_saved_by(type(node)):
        if name == "tensors":  # a Python autograd.Function
            yield from _saved_by_function(node)
            continue
        try:
            raw = getattr(node, "_raw_saved_" + name)
        except RuntimeError:  # a list of saved tensors, freed
            yield name, "freed", None
            continue
        if isinstance(raw, (tuple, list)):
            for position, one in enumerate(raw):
                state = _state(node, f"_saved_{name}", one, position)
                if state is not None:
                    yield f"{name}[{position}]", *state
        else:
            state = _state(node, f"_saved_{name}", raw)
            if state is not None:
                yield name, *state


def overwritten_texts(node: Any) -> Iterator[str]:
    """What torch says of each value that this node saved and that was overwritten, up to its hint."""
    for name, state, _ in saved_states(node):
        try:
            if state == "overwritten":
                getattr(node, "_saved_" + name.partition("[")[0])
        except RuntimeError as error:
            yield str(error).partition(" Hint: ")[0]


class SavedReader:
    """Reads what the nodes of one graph saved. Asking a freed node costs an exception of C++; among many nodes of one
    operation with the same inputs, the answer of the first few is that of all."""

    ASKED = 8

    def __init__(self) -> None:
        self._attributes: dict[type, tuple[str, ...]] = {}
        self._answers: dict[Any, list[tuple[tuple[str, str, Any], ...]]] = {}
        self._certain: dict[Any, tuple[tuple[str, str, Any], ...]] = {}

    def attributes(self, node: Any) -> tuple[str, ...]:
        """The names under which a node of this kind has what it saved; none for one that never saves."""
        kind = type(node)
        known = self._attributes.get(kind)
        if known is None:
            known = self._attributes[kind] = tuple("_raw_saved_" + name for name in _names_saved_by(kind))
        return known

    def states(self, node: Any, there: tuple[bool, ...]) -> tuple[tuple[str, str, Any], ...]:
        """(name, state, tensor or None), as `saved_states` has it; of each of the node's inputs, has it a graph?"""
        kind = type(node)
        for attribute in self.attributes(node):
            if _has_data(node, attribute):
                return tuple(saved_states(node))
        key = (kind, there)
        certain = self._certain.get(key)
        if certain is not None:
            return certain
        states = tuple(saved_states(node))
        answers = self._answers.setdefault(key, [])
        answers.append(states)
        if len(answers) == self.ASKED and all(one == states for one in answers):
            self._certain[key] = states
        return states


def _has_data(node: Any, attribute: str) -> bool:
    """Does a value lie there? Not so where it was freed, or none was saved."""
    if attribute == "_raw_saved_tensors":  # of a Python function: how many they were is not known once they are freed
        return True
    try:
        raw = getattr(node, attribute)
        return raw.data is not None or raw.unpack_hook is not None
    except RuntimeError:
        return False
    except AttributeError:  # a list of them, or this torch does not tell
        return True


def _saved_by_function(node: Any) -> Iterator[tuple[str, str, Any]]:
    try:
        raws = node._raw_saved_tensors
    except RuntimeError:
        yield "tensors", "freed", None
        return
    for position, raw in enumerate(raws or ()):
        yield f"tensors[{position}]", "live", _plain_data(raw)


def _plain_data(raw: Any) -> Any:
    """The saved tensor itself; None when a hook has taken it elsewhere, or this torch does not tell."""
    return _data(raw) if getattr(raw, "unpack_hook", None) is None else None


def _data(raw: Any) -> Any:
    try:
        data = getattr(raw, "data", None)
    except RuntimeError:  # FSDP has given the memory of a parameter back until it is needed
        return None
    return data if is_tensor(data) else None


_hooks_used = False  # has the program put hooks on saved values, under a torch that does not tell which have one?


def mind_saved_hooks(tell: Callable[[str], None]) -> Callable[[], None]:
    """Where this torch does not tell whether a hook keeps a saved value: look at none once the program uses hooks.

    To read such a value would run the program's own code, as that of a checkpoint. Gives back what undoes it.
    """
    global _hooks_used
    _hooks_used = False
    home = torch_module()._C._autograd
    push = getattr(home, "_push_saved_tensors_default_hooks", None)
    if push is None or hasattr(home.SavedTensor, "unpack_hook"):
        return lambda: None

    def announced(*args: Any) -> Any:
        global _hooks_used
        if not _hooks_used:
            _hooks_used = True
            tell(
                "this version of torch does not report which saved values a hook keeps: none is looked at from here on"
            )
        return push(*args)

    home._push_saved_tensors_default_hooks = announced
    return lambda: setattr(home, "_push_saved_tensors_default_hooks", push)


def _state(node: Any, attribute: str, raw: Any, position: int | None = None) -> tuple[str, Any] | None:
    if _hooks_used or getattr(raw, "unpack_hook", None) is not None:
        return "live", None
    data = _data(raw)
    try:
        value = getattr(node, attribute)
    except RuntimeError as error:
        if "modified by an inplace operation" in str(error):
            return "overwritten", data
        return ("freed" if error_kind(error) == "second_backward" else "live"), None
    if position is not None:  # one of a list
        value = value[position] if isinstance(value, (tuple, list)) and position < len(value) else None
    return None if value is None else ("live", data if data is not None else value)


def has_numbers(tensor: Any) -> bool:
    """May its numbers be read? Not those of a tensor of another make, as one that is spread over machines, and not of
    one on the device `meta`, which has none."""
    torch = torch_module()
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_meta and not tensor.is_sparse
    return plain and has_memory(tensor)


def has_memory(tensor: Any) -> bool:
    """Is its memory there? FSDP2 gives a gathered parameter's back between two uses; to read it would crash."""
    return not tensor.numel() or (memory_of(tensor) or (0, 1))[1] > 0


def memory_of(tensor: Any) -> tuple[int, int] | None:
    """Where a tensor's numbers lie, and how many bytes are there; None for one that has no memory of its own: a sparse
    one, one that wraps others, or one that only pretends, of which to ask would bring a warning."""
    fake = sys.modules.get("torch._subclasses.fake_tensor")
    if fake is not None and issubclass(type(tensor), fake.FakeTensor):
        return None
    try:
        storage = torch_module().Tensor.untyped_storage(tensor)
        return int(storage.data_ptr()), int(storage.nbytes())
    except (RuntimeError, NotImplementedError, AttributeError):
        return None


def value_bytes(node: Any) -> int:
    """The size of what an operation made, by the shapes that its node keeps; 0 where this torch does not tell."""
    try:
        size = 0
        for one in node._input_metadata:
            size += prod(one.shape) * _item_size(one.dtype)
        return int(size)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return 0


@cache
def _item_size(dtype: Any) -> int:
    return int(dtype.itemsize)


_operation_names: dict[type, str] = {}


def operation_name(node: Any) -> str:
    """What a node calls its operation, asked once of each type: one of torch's own stands for one operation, but for
    the type that operations share which Python knows nothing of."""
    kind = type(node)
    name = _operation_names.get(kind)
    if name is None:
        name = str(node.name())
        if name.rpartition("::")[2] == kind.__name__:
            _operation_names[kind] = name
    return name


def error_kind(error: BaseException) -> str | None:
    """Which of the errors we explain this is."""
    text = str(error)
    if not isinstance(error, RuntimeError):
        return None
    if "backward through the graph a second time" in text:
        return "second_backward"
    if "modified by an inplace operation" in text:
        return "inplace"
    if "does not require grad and does not have a grad_fn" in text:
        return "no_grad"
    if "mark a variable ready only once" in text:
        return "ddp_ready_twice"
    if "Expected to have finished reduction in the prior iteration" in text:
        return "ddp_unfinished"
    if "donated buffer" in text:
        return "donated_buffers"
    return None


_WITHOUT_GRADIENT = re.compile(r"did not receive grad for rank \d+: ([\d ]+)")
_READY_TWICE = re.compile(r"with name (\S+) has been marked as ready twice")


def parameters_without_gradient(error: BaseException) -> frozenset[int] | None:
    """The numbers of the parameters that DistributedDataParallel waited for in vain; None where torch does not tell."""
    found = _WITHOUT_GRADIENT.search(str(error))
    return frozenset(int(number) for number in found[1].split()) if found is not None else None


def parameter_ready_twice(error: BaseException) -> str:
    """The parameter that torch names in that error, by its dotted name."""
    found = _READY_TWICE.search(str(error))
    return found[1] if found is not None else ""


def gathered_parameters() -> list[tuple[Any, Any]]:
    """(the part that an optimizer holds, what FSDP2 computes with: gathered from all ranks) of each parameter."""
    kind = getattr(sys.modules.get("torch.distributed.fsdp._fully_shard._fsdp_param"), "FSDPParam", None)
    found = (vars(one) for one in gc.get_objects() if type(one) is kind) if kind is not None else ()
    return [(one["sharded_param"], one["_unsharded_param"]) for one in found if "_unsharded_param" in one]


def own_part(tensor: Any) -> Any:
    """What lies here of a tensor that is spread over ranks: to ask it for more would wait for the others."""
    kind = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    return tensor._local_tensor if kind is not None and isinstance(tensor, kind) else tensor
