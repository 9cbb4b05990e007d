"""The gradient ledger: entries are facts, and the replay says what each step used and what became of each gradient."""

from __future__ import annotations

from afterward.model.gradients import (
    BY_HAND,
    CHANGED,
    CLEARED,
    MISSING,
    PRODUCED,
    READ,
    REPLACED,
    UNSEEN,
    USED,
    Entry,
    GradientLedger,
)

ONE = frozenset({0})


def _produced(run: int) -> Entry:
    return Entry(PRODUCED, ONE, run=run)


def _used(step: int) -> Entry:
    return Entry(USED, ONE, step=step)


CLEAR = Entry(CLEARED, ONE)


def test_a_gradient_that_is_cleared_is_used_once() -> None:
    ledger = GradientLedger([_produced(0), _used(0), CLEAR, _produced(1), _used(1)])
    assert [use.runs for use in ledger.uses] == [(0,), (1,)]
    assert not any(use.again for use in ledger.uses)
    assert ledger.piled(1) == frozenset()


def test_a_gradient_that_is_not_cleared_is_used_again() -> None:
    ledger = GradientLedger([_produced(0), _used(0), _produced(1), _used(1)])
    last = ledger.uses[-1]
    assert (last.runs, last.again, last.added_to_used) == ((0, 1), frozenset({0}), 1)
    assert ledger.piled(1) == ONE
    assert ledger.filled(1) == frozenset()


def test_several_passes_before_one_step_are_one_use() -> None:
    ledger = GradientLedger([_produced(0), _produced(1), _used(0)])
    assert ledger.filled(1) == ONE
    assert ledger.uses[0].runs == (0, 1)
    assert ledger.uses[0].added_to_used is None


def test_a_step_that_finds_nothing_knows_what_was_lost() -> None:
    ledger = GradientLedger([_produced(0), CLEAR, Entry(MISSING, ONE, step=0)])
    (empty,) = ledger.empty
    assert (empty.lost, empty.begun) == ((0,), True)
    (first,) = GradientLedger([Entry(MISSING, ONE, step=0)]).empty
    assert (first.lost, first.begun) == ((), False)


def test_what_changed_the_leaf_otherwise_was_no_step() -> None:
    ledger = GradientLedger([_produced(0), Entry(CHANGED, ONE), _produced(1), Entry(CHANGED, ONE), _produced(2)])
    assert ledger.uses == []
    assert ledger.piled(2) == frozenset()
    assert ledger.filled(2) == frozenset()  # not of the present values


def test_nothing_is_known_across_a_gap_until_the_gradient_is_cleared() -> None:
    ledger = GradientLedger([_produced(0), Entry(UNSEEN), _produced(1), _used(0), CLEAR, _produced(2), _used(1)])
    assert [use.runs for use in ledger.uses] == [(2,)]
    assert ledger.fates[0, 0].unseen
    assert ledger.fates[1, 0].unseen


def test_a_gradient_of_the_programs_own_is_not_a_pass_of_ours() -> None:
    ledger = GradientLedger([_produced(0), Entry(REPLACED, ONE), _used(0)])
    assert ledger.uses == []
    assert ledger.fates[0, 0].read


def test_updates_by_hand_are_told_apart() -> None:
    hand = Entry(USED, ONE, step=BY_HAND)
    ledger = GradientLedger([_produced(0), Entry(READ, ONE), hand, _produced(1), hand])
    assert len(ledger.uses_by_step()) == 2
    assert [use.again for use in ledger.uses] == [frozenset(), frozenset({0})]
