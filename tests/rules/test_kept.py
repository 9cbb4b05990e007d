"""What is a record of past steps, by the facts that both engines write down of a name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from afterward.model.history import History, Kept
from afterward.model.site import Site
from afterward.rules._kept import FEW, STATE, STEPS, UNUSED, WINDOW, records

LINE = Site("train.py", 9, 9)
LOG = Kept("log", 10, 70, 560, LINE)

NO_RECORDS = {
    "the graphs of two steps": replace(LOG, steps=STEPS - 1),
    "a state that several passes go through": replace(LOG, times=STATE),
    "the last few": replace(LOG, forgets=True),
    "the newest of each kind": replace(LOG, replaces=True, by_count=True),
    "a queue that nothing has been taken from yet": replace(LOG, times=0, forgets=True, steps=UNUSED - 1),
}
RECORDS = {
    "a log": LOG,
    "one that nothing ever uses": replace(LOG, times=0),
    "more than a window holds": replace(LOG, forgets=True, steps=WINDOW + 1),
    "one sum of many steps under a constant key": replace(LOG, replaces=True),
    "a memory that is filled and never emptied": replace(LOG, times=0, forgets=True, steps=UNUSED),
}


@pytest.mark.parametrize("what", NO_RECORDS)
def test_it_is_no_record(what: str) -> None:
    assert records(History(kept=(NO_RECORDS[what],))) == []


@pytest.mark.parametrize("what", RECORDS)
def test_it_is_a_record(what: str) -> None:
    assert records(History(kept=(RECORDS[what],))) == [RECORDS[what]]


def test_two_steps_are_enough_where_nothing_was_run() -> None:
    few = replace(LOG, steps=FEW)
    assert records(History(kept=(few,), observed=False)) == [few]


def test_one_statement_fills_one_record() -> None:
    """Under the name of the object that holds it, where a local name is another one."""
    own, far = replace(LOG, name="self.log", steps=9), replace(LOG, name="rows", site=replace(LINE, line=12))
    assert records(History(kept=(LOG, own, far))) == [own, far]
