"""Hooks of ours beside those of the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from afterward.observe import compat

_own_hooks = -(1 << 40)  # the numbers of our hooks: torch gives its own from 0 on


@contextmanager
def hooks_numbered_apart() -> Iterator[None]:
    """Within this block, what registers a hook takes no number away from the program's hooks."""
    global _own_hooks
    handles = compat.torch_module().utils.hooks.RemovableHandle
    theirs, handles.next_id = handles.next_id, _own_hooks
    try:
        yield
    finally:
        _own_hooks, handles.next_id = handles.next_id, theirs
