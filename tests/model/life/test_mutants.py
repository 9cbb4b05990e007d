"""The mutation check: every mutant can be made, and one of them is shown to be caught."""

from __future__ import annotations

from pathlib import Path

import pytest

import mutate_model


@pytest.mark.parametrize("mutant", mutate_model.MUTANTS, ids=lambda mutant: mutant.name)
def test_its_text_is_in_the_model(mutant: mutate_model.Mutant) -> None:
    text = (mutate_model.ROOT / "src" / mutate_model.LIFE / mutant.file).read_text()
    assert text.count(mutant.old) >= 1
    compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")


def test_there_are_enough_and_no_two_alike() -> None:
    assert len({(m.file, m.old, m.new) for m in mutate_model.MUTANTS}) == len(mutate_model.MUTANTS) >= 20


def test_a_broken_model_is_caught(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    caught, how = mutate_model.is_caught(mutate_model.MUTANTS[0], count=300, seed=0)
    assert caught
    assert "Disagreement" in how
