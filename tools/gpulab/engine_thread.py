"""Imported by a program: from then on its backward passes run in a thread of their own, as they do on a GPU.

Nodes that such a pass makes (`create_graph=True`) are numbered by that thread, and hooks and custom functions run
there: what is peculiar to a GPU for whoever watches, on a machine that has none.
"""

from __future__ import annotations

import queue
import threading
from types import SimpleNamespace
from typing import Any

import torch.autograd.graph as graph

_engine = graph.Variable._execution_engine
_asked: queue.SimpleQueue[Any] = queue.SimpleQueue()


def _work() -> None:
    while True:
        args, kwargs, answer = _asked.get()
        try:
            answer.put((_engine.run_backward(*args, **kwargs), None))
        except BaseException as error:
            answer.put((None, error))
        del args, kwargs, answer


_thread = threading.Thread(target=_work, daemon=True)
_thread.start()


def run_backward(*args: Any, **kwargs: Any) -> Any:
    """As the engine's own: from inside a pass it goes on in the same thread."""
    if threading.current_thread() is _thread:
        return _engine.run_backward(*args, **kwargs)
    answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
    _asked.put((args, kwargs, answer))
    result, error = answer.get()
    if error is not None:
        raise error
    return result


graph.Variable = SimpleNamespace(  # type: ignore[misc, assignment]
    _execution_engine=SimpleNamespace(run_backward=run_backward, queue_callback=_engine.queue_callback)
)
