"""What is compared of a tensor is read without changing what the program can do with it."""

from __future__ import annotations

import torch

from afterward.observe.proving.sampled import digest, sampled
from afterward.observe.silent.totals import total


def test_the_memory_can_still_be_resized() -> None:
    """As FSDP does after each use of a parameter. NumPy, given the memory itself, would end that for good."""
    parameter = torch.randn(4, 4)
    assert digest(parameter) == digest(parameter.clone())
    sampled(parameter)
    assert parameter.untyped_storage().resizable()


def test_numbers_of_memory_that_was_given_back_are_not_read() -> None:
    """As FSDP2 does with a gathered parameter; to read it would raise inside the program's own pass."""
    parameter = torch.nn.Parameter(torch.randn(4, 4))
    parameter.untyped_storage().resize_(0)
    assert total(parameter) is None
    assert sampled(parameter) == ()
    assert total(torch.ones(2)) == 2.0


def test_one_other_bit_is_another_digest() -> None:
    one = torch.randn(3, 5)
    other = one.clone()
    other[2, 4] = torch.nextafter(other[2, 4], torch.tensor(9.0))
    assert digest(one) != digest(other)
    assert digest(one.t()) == digest(one.t().contiguous())
