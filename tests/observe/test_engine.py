"""The one door of all passes: its code with our calls in it."""

from __future__ import annotations

import builtins
import dis
import sys

import pytest

from afterward.observe import compat
from afterward.observe.recording.engine import passes_announced


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 knows the line of an instruction only")
def test_our_calls_are_on_the_line_of_the_first_statement(torch_as_it_was: None) -> None:
    """An interrupt may strike in one of them: its traceback then shows a line of the function, with its text."""
    function = compat.backward_entry()
    plain = list(dis.get_instructions(function))
    hooks, names = [lambda *_: None, lambda *_: None], dir(builtins)
    with passes_announced(*hooks):
        ours = [one for one in dis.get_instructions(function) if one.argval in hooks]
        assert dir(builtins) == names
    first = next(one.positions for one in plain if one.positions and one.positions.lineno != plain[0].positions.lineno)
    assert len(ours) == 2
    for one in ours:
        assert one.positions is not None
        assert (one.positions.lineno, one.positions.col_offset) == (first.lineno, 4)
        assert one.positions.end_lineno is not None
