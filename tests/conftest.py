"""What several folders of tests share."""

from __future__ import annotations

import gc
import signal

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

settings.register_profile("the same every time", derandomize=True)
settings.load_profile("the same every time")
# Hypothesis draws constants of the modules that are loaded, too: which tests ran before would decide what is drawn.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants


def pytest_collection_finish() -> None:
    """What has been imported so far is not looked through again: a watch that ends asks for all living optimizers."""
    gc.collect()
    gc.freeze()


def pytest_configure() -> None:
    """A run in the background of a shell ignores interrupts, and so would the programs that tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the golden files")


@pytest.fixture
def torch_as_it_was():
    """Hooks must leave no trace: torch is the same before and after."""
    import builtins
    import sys
    import threading

    import torch

    entry = torch.autograd.graph._engine_run_backward

    def snapshot() -> tuple[object, ...]:
        return (
            entry.__code__,
            torch.autograd._engine_run_backward,
            len(sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks),
            threading.Thread.start,
            tuple(sys.meta_path),
            sys.gettrace(),
            {name for name in vars(builtins) if name != "_"},  # the interpreter's last value
        )

    before = snapshot()
    yield
    assert snapshot() == before
