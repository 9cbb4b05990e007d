"""A step goes by the program's own count as well, where the head of its loop shows what that is."""

from __future__ import annotations

import pytest

from afterward.model.site import Site
from afterward.render.counter import step_of


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ("for epoch in range(3):", " (`epoch` = 1)"),
        ("for epoch in range(3):  # all of them", " (`epoch` = 1)"),
        ("for epoch in range(\n    1, 10, 4\n):", " (`epoch` = 5)"),
        ("for i in reversed(range(3)):", ""),
        ("for i, batch in enumerate(batches):", " (`i` = 1)"),
        ("for i, (x, y) in enumerate(loader, start=1):", " (`i` = 2)"),
        ("for epoch in tqdm(range(3)):", " (`epoch` = 1)"),
        ("for epoch in trange(3, desc='epoch'):", " (`epoch` = 1)"),
        ("for epoch in range(first, 3):", ""),
        ("for epoch in epochs:", ""),
        ("for x in tqdm(batches):", ""),
        ("for _ in range(3):", ""),
        ("while True:", ""),
    ],
)
def test_a_loop_that_counts_gives_its_own_number(head: str, shown: str) -> None:
    source = f"before = 1\n{head}\n    loss.backward()\n"
    site = Site("train.py", 3, 3, step=2, counted_by=Site("train.py", 2, 2))
    assert step_of(site, {"train.py": source}.__getitem__) == f", step 2{shown}"


def test_a_loop_of_a_library_has_no_count_of_its_own() -> None:
    site = Site("train.py", 1, 1, step=2, counted_by=Site("train.py", 1, 1))
    assert step_of(site, lambda _: "trainer.fit(model)\n") == ", step 2"


def test_outside_of_any_step_there_is_nothing_to_count() -> None:
    assert step_of(Site("train.py", 1, 1), str) == ""
