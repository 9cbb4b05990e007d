"""The words of the remedies: by kind and form, what to type, and what it does to the gradients.

Filled in by `render` (see `render.template`) and read by nothing else. A rule that needs another sentence has it in
its own `Words`.
"""

from __future__ import annotations

_STEP_START = "detach {target} at the start of each step<: {code}>; gradients then do not flow into earlier steps"
_NOT_THERE = "it is only an input there, and what it was computed from gets no gradient from that loss"
_STORED = "store {target} detached; what it was computed from then gets no gradient through it"
_RETAIN = "pass `retain_graph=True`< on {{lines}}>; {}, and the graph stays in memory until the next `backward()`"

# By kind and form. `other`: what `fix` tries beside the remedies that the rule names.
HELPS: dict[str, dict[str, str]] = {
    "detach_state": {
        "": "detach what is carried from step to step; gradients then do not flow into earlier steps",
        "other": "detach what is carried over; gradients then stop there",
        "step_start": _STEP_START,
        "step_end": "detach {target} at the end of each step<: {code}>; gradients then do not flow into earlier steps",
        "own_reset": "cut what the layer keeps in {target} at the start of each step, by its own method<: {code}>; "
        "gradients then do not flow into earlier steps",
        "begun_again": "reset {target} at the start of each step<: {code}>; each step then begins as the first one "
        "did, and gradients do not flow into earlier steps",
        "stored": _STORED,
        "read": "detach {target} where it is read; what it was computed from then gets no gradient through it",
        "growing": "detach what is carried from step to step (and remove `retain_graph=True` where it is given); "
        "gradients then do not flow into earlier steps",
    },
    "detach_input": {
        "other": "detach {target} where this `backward()` reads it; it is only an input there",
        "read_late": "detach {target} in the loss of this `backward()`: " + _NOT_THERE,
        "read_early": "detach {target} in the loss of {early}: " + _NOT_THERE,
        "read_other": "detach {target} in each loss that is not meant to train what {owner} updates: it is only an "
        "input there",
        "recomputed": "detach {target}: this step recomputes what it was computed from and trains that; the old value "
        "is only an input",
        "made": "detach {target} where it is computed: it is the target of both losses; what it was computed from "
        "then gets no gradient from either",
        "untrained": "detach {target} where it is computed: no optimizer updates what it was computed from",
    },
    "recompute_forward": {
        "": "recompute {target} before each `backward()`< (run {lines} again)>; costs one forward pass each time, and "
        "gradients use the current parameters",
        "other": "recompute {target} before each `backward()`; costs one forward pass each time",
        "restore": "put the input back at the start of each step<: {code}>; the step then starts from it again",
    },
    "combine_losses": {
        "": "add the losses and call `backward()` once on the sum; {effect}, and nothing is kept in memory",
        "other": "add the losses and call `backward()` once on the sum",
        "without_retain": "add the losses and call `backward()` once on the sum, without `retain_graph=True`; "
        "{effect}, and nothing is kept in memory",
        "each_iteration": "call `backward()` in each iteration, or add up {target} and call `backward()` on the sum; "
        "every iteration then counts",
        "left_out": "add {target} to the loss that `backward()` is called on; if it is only logged, compute it under "
        "`torch.no_grad()`",
        "reduced": "add the losses and call `backward()` once on the sum; the gradients of both losses are then "
        "reduced across ranks",
    },
    "retain_graph": {
        "": _RETAIN.format("{effect}"),
        "other": "pass `retain_graph=True` to the first `backward()`; keeps its graph in memory",
        "add_up": _RETAIN.format("the gradients of both calls add up"),
        "cleared": _RETAIN.format("the gradients of the first call are cleared before the next one"),
        "apart": _RETAIN.format("the gradients of each call are read and cleared before the next one"),
        "returned": _RETAIN.format("`autograd.grad` returns what it computes and does not touch `.grad`"),
        "first_returned": _RETAIN.format("the first call does not touch `.grad`"),
        "compiled": _RETAIN.format("the gradients of both calls add up")
        + "; set `torch._functorch.config.donated_buffer = False` before compiling",
        "donated": "set `torch._functorch.config.donated_buffer = False` before compiling; the graph can then be "
        "kept, and its values stay in memory",
    },
    "create_graph": {
        "": "pass `create_graph=True`< on {lines}>: its result is part of the later loss; the graph is kept, and "
        "second-order gradients flow",
        "result": "pass `create_graph=True` on {lines}: gradients then flow through its result",
        "penalty": "pass `create_graph=True` on {lines}; gradients then flow through the derivative, at the cost of a "
        "graph of the backward pass",
    },
    "remove_duplicate": {
        "later": "remove this second `backward()`: the first one already added these gradients",
        "earlier": "remove {early}: this `backward()` covers {target} too",
        "librarys": "remove {early}: what is called on {late} calls `backward()` on the loss itself",
        "earlier_grad": "remove {early}: after this `backward()` the same gradients are in `.grad`",
        "either": "remove one of the two `backward()` calls, or call `zero_grad()` between them; each loss then "
        "counts once",
        "other": "remove one of the two `backward()` calls; each loss then counts once",
        "old_terms": "call `backward()` on the new loss alone, and add its `.item()` to the running sum; each loss "
        "then counts once",
        "clear_terms": "remove from {target} what `backward()` was called on, after each `backward()`; each loss then "
        "counts once",
        "read_before": "read the value before the `backward()`, or keep the tensor itself",
    },
    "reorder_step": {
        "": "move {update} after the last `backward()` that needs these values; each gradient is then computed with "
        "one set of parameters",
        "other": "move the step after the last `backward()` that needs the old parameters",
        "exchange": "swap the `step()` calls on {first} and {second}; each optimizer then steps after the "
        "`backward()` of its own loss",
        "instead": "call {update} on {line}; each optimizer then steps after the `backward()` of its own loss",
        "write": "move the in-place write< on {write}> after the last `backward()` that needs these values; each "
        "gradient is then computed with one set of values",
        "compute_after": "compute {computed} after the step on {lines}, not before it; gradients then use the current "
        "parameters",
        "own_inputs": "move the step after this `backward()`, and pass it `inputs=` with the parameters that {update} "
        "updates; each gradient is then computed with one set of parameters, and used by its own step alone",
    },
    "move_step": {
        "": "call every `backward()` of a forward pass before any `step()`, or recompute the forward pass after it; "
        "gradients then use the current parameters",
        "own_backward": "move {update} after the `backward()` on {lines}; each step then uses the gradients of its "
        "own iteration",
        "never": "call {update} after this `backward()`; its parameters are then trained",
        "other": "move the step after the `backward()` that computes its gradients; the step then uses them",
        "exchange": "swap the `step()` calls on {first} and {second}; each optimizer then steps after the "
        "`backward()` of its own loss",
        "instead": "call {update} on {line}; its parameters are then trained",
    },
    "out_of_place": {
        "": "make a new tensor instead of writing into {target} (use the function without the trailing `_`, write `x "
        "= x + y`), or clone it before the write; costs one copy",
        "other": "make a new tensor instead of writing into this one; costs one copy",
        "inplace_flag": "remove `inplace=True` from the module that is called there, or pass it a clone of {target}",
        "clone": "compute with a clone of {target}, or call the module that writes to it first",
    },
    "remove_detach": {
        "": "remove {cut} where the loss is computed; gradients then flow through it",
        "on_line": "remove {cut} on {lines}; they then get gradients",
        "sample": "draw with `.rsample()`, if the distribution has it; gradients then flow through what is drawn",
        "sample_on_line": "draw with `.rsample()` instead of `.sample()` on {lines}; they then get gradients",
        "rebuilt": "use `torch.stack` (or the tensor itself) instead of {cut}; gradients then flow through it",
        "grad_mode": "compute the loss outside {cut}; gradients then flow through it",
        "checkpoint": "pass `use_reentrant=False`: it then records what its parameters need, whatever its inputs are",
        "frozen": "remove {cut}, or set it to `True` again before the loss is computed",
        "thaw": "let <{what}><!what:the parameters> require gradients again at the start of this step; they were "
        "switched off for another one",
        "other": "let the parameters require gradients again before this step; they then get gradients",
        "unknown": "remove the cut between these parameters and their loss; they then get gradients",
    },
    "ask_for_gradient": {
        "other": "call `.requires_grad_()` on what the optimizer is given; it is then trained",
    },
    "rebuild_optimizer": {
        "": "create the optimizer again for the model that is used, or copy the values into the old one with "
        "`load_state_dict`; its steps then change what is trained",
        "part_replaced": "replace that part< on {lines}> first and create the optimizer after it; its steps then "
        "change what is trained",
        "other": "create the optimizer when the model is complete; its steps then change what is trained",
        "trained": "create the optimizer with the parameters of {model} on {line}: they get the gradients; its steps "
        "then change what is trained",
        "later": "create the optimizer after {line}, when the model is complete; its steps then change what is trained",
        "not_held": "pass {who} to an optimizer, or remove this `backward()`",
    },
    "zero_grad": {
        "": "call `zero_grad()` (or set `.grad = None`) after each update, before the next `backward()`; each update "
        "then uses the gradients of its own step",
        "earlier": "clear the gradients after the step that used them, or before the first `backward()` for the next; "
        "the step then uses them",
        "own_loss": "call {clear} right before the `backward()` on {lines}, or detach what the other loss takes from "
        "that network; each step then uses its own loss only",
    },
    "item_for_logging": {
        "": "store a number instead: `.item()` (or `.detach()` for a tensor); {effect}",
        "tensor": "store it without its graph: `.detach()`; {effect}",
        "row": "store what is in it without its graph: `.item()` or `.detach()`; {effect}",
    },
    "remove_retain": {
        "": "remove {flag}; {effect}, and the saved values are freed at once",
    },
    "no_grad": {
        "": "compute it under `torch.no_grad()`: nothing is recorded or saved then; {effect}",
        "between": "compute it under `torch.no_grad()`: nothing is recorded or saved then; {effect}",
        "other": "put the write under `torch.no_grad()`; the values are the same, and nothing is recorded",
    },
    "batch_samples": {
        "": "pass the whole tensor in one call; gradients do not change beyond rounding, unless a layer looks at the "
        "batch as a whole (batch norm) or draws random numbers",
        "steps": "take mini-batches out of that tensor, with one `backward()` and one step for each; training then "
        "changes: steps are fewer and less noisy, and the learning rate may have to be raised",
        "sums": "take mini-batches out of that tensor, with one `backward()` for each; a loss that is averaged over "
        "the batch gives the mean of these gradients instead of their sum",
    },
    "use_parameters": {
        "": "call this part of the module in every step, or leave its parameters out with `requires_grad_(False)`",
        "in_loss": "add what they compute to the loss, or do not return it from the module's `forward`",
    },
    "find_unused": {
        "": "pass `find_unused_parameters=True` to `DistributedDataParallel`; it then searches the graph for unused "
        "parameters in every step",
    },
    "no_reentrant": {
        "": "pass `use_reentrant=False` to `checkpoint`< on {lines}>; it then makes no backward pass of its own, and "
        "each parameter is marked once",
        "search": "remove `find_unused_parameters=True` from `DistributedDataParallel`, if every step uses all "
        "parameters",
        "static": "pass `static_graph=True` to `DistributedDataParallel`, if every step uses the same parameters the "
        "same number of times",
    },
}
