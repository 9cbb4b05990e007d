"""Looks at the program run no code of its own, and no mode of torch's sees them."""

from __future__ import annotations

import io
import signal
import sys
from collections import OrderedDict, UserDict, deque, namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.watching import watch_source

from afterward.observe import looking
from afterward.observe.looking import (
    attribute,
    elements,
    entries,
    is_a,
    parameters_held_by,
    space_of,
    unseen,
    usable_stream,
    warn,
)


class Touched(Exception):
    pass


def _touched(*args: object, **kwargs: object) -> None:
    raise Touched


class Lazy:
    kept = 1
    __class__ = property(_touched)
    __getattr__ = _touched
    __getattribute__ = _touched
    __eq__ = _touched
    __hash__ = _touched
    __len__ = _touched
    __iter__ = _touched
    __bool__ = _touched
    __repr__ = _touched


class OwnDict(dict):
    items = keys = values = get = __iter__ = __getitem__ = __len__ = _touched


class OwnList(list):
    __iter__ = __getitem__ = __len__ = _touched


class Slotted:
    __slots__ = ("x",)


class OwnSpace:
    @property
    def __dict__(self):
        raise Touched


def test_what_lies_there_is_read_and_nothing_is_called() -> None:
    lazy = Lazy()
    assert is_a(lazy, Lazy)
    assert not is_a(lazy, (dict, torch.Tensor))
    assert space_of(lazy) == {}
    assert attribute(lazy, "x") is None
    own = OwnDict()
    dict.__setitem__(own, "a", 1)
    assert entries(own) == [("a", 1)]
    many = OwnList()
    list.append(many, 2)
    assert elements(many) == [2]
    assert elements(deque([1, 2])) == [1, 2]
    assert elements(namedtuple("P", "x y")(1, 2)) == [1, 2]
    assert entries(OrderedDict(a=1)) == [("a", 1)]
    assert entries(UserDict(a=1)) == []
    assert space_of(Slotted()) == {}
    assert space_of(OwnSpace()) == {}
    assert "entries" in space_of(__import__("afterward.observe.looking", fromlist=["x"]))


def test_an_optimizers_parameters_are_read_and_its_properties_are_not() -> None:
    weight = torch.ones(2, requires_grad=True)
    assert parameters_held_by(torch.optim.SGD([weight], lr=0.1))[0] is weight

    class Wrapped(torch.optim.SGD):
        @property
        def param_groups(self):
            raise Touched

        @param_groups.setter
        def param_groups(self, value):
            pass

    assert parameters_held_by(Wrapped.__new__(Wrapped)) == []


def test_modes_do_not_see_what_is_asked_for_within_the_block() -> None:
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Function(TorchFunctionMode):
        __torch_function__ = _touched

    class Dispatch(TorchDispatchMode):
        __torch_dispatch__ = _touched

    weight = torch.ones(2, requires_grad=True)
    with Function(), unseen():
        assert weight.requires_grad
        assert weight.detach().sum().item() == 2
    with Dispatch(), unseen():
        assert weight.detach().sum().item() == 2


PROGRAM = """\
class Touched(Exception): pass
def touched(*args, **kwargs): raise Touched
class Lazy:
    __class__ = property(touched)
    __getattr__ = __getattribute__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = touched
class Own(dict):
    items = keys = values = get = __iter__ = __getitem__ = __len__ = __contains__ = touched
class Many(list):
    __iter__ = __getitem__ = __len__ = __contains__ = touched
lazy, own, many = Lazy(), Own(a=1), Many([1])
class Net(torch.nn.Linear):
    shared = [lazy]
    @property
    def loss(self): raise Touched
net = Net(2, 1)
vars(net)["lazy"] = lazy
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(10):
    loss = net(torch.ones(3, 2)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("end", ["", "loss.backward()\n"])
def test_neither_a_survey_nor_a_post_mortem_touches_what_would_run(
    end: str, tmp_path: Path, torch_as_it_was: None
) -> None:
    seen = watch_source(PROGRAM + end, tmp_path)
    assert (seen.error is None) == (not end)
    assert len(seen.session.histories) == bool(end)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarm here")
def test_an_exception_of_a_signal_handler_reaches_the_program(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(
        """\
import signal, traceback
class Late(Exception): pass
def ring(number, frame): raise Late
before = signal.signal(signal.SIGALRM, ring)
w = torch.ones(1, requires_grad=True)
struck, shown = 0, ""
for turn in range(6):
    y = w
    for _ in range(4000):
        y = y * w
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        y.backward()
        while True:
            pass
    except Late as late:
        struck += 1
        shown += "".join(traceback.format_exception(late))
signal.signal(signal.SIGALRM, before)
""",
        tmp_path,
    )
    assert seen.error is None
    assert seen.names["struck"] == 6
    assert "session.py" not in seen.names["shown"]
    assert "During handling" not in seen.names["shown"]


def test_a_report_goes_where_it_is_seen_and_runs_no_code_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    real = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "__stderr__", real)

    class Own:
        write = flush = _touched

    class OwnText(io.StringIO):
        write = _touched

    closed = io.StringIO()
    closed.close()
    for replaced in (None, Own(), OwnText(), closed):
        monkeypatch.setattr(sys, "stderr", replaced)
        assert usable_stream("stderr") is real
    monkeypatch.setattr(sys, "stderr", kept := io.StringIO())
    assert usable_stream("stderr") is kept
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "__stderr__", None)
    warn("nobody hears this")


def test_a_handler_of_the_programs_does_not_strike_when_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    struck: list[int] = []
    at_exit: list[Callable[[], None]] = []
    monkeypatch.setattr("atexit.register", at_exit.append)
    before = signal.signal(signal.SIGUSR1, lambda number, frame: struck.append(number))
    try:
        looking.set_handlers_aside()
        signal.raise_signal(signal.SIGUSR1)
        assert not struck
        at_exit[0]()
        signal.raise_signal(signal.SIGUSR1)
        assert struck == [signal.SIGUSR1]
    finally:
        at_exit[0]()
        signal.signal(signal.SIGUSR1, before)
