"""pytest.main on itself: assertion rewriting, fixtures, xfail, captured output, the exit status."""
import sys

import pytest


@pytest.fixture
def number():
    yield 3
    print("torn down")


def test_good(number):
    assert number == 3


def test_bad(number):
    print("shown")
    values = [i * number for i in range(3)]
    assert values == [0, 3, 7], "why"


@pytest.mark.parametrize("x", [1, 2])
def test_param(x):
    assert x < 2


@pytest.mark.xfail(raises=ZeroDivisionError)
def test_x():
    1 / 0


if __name__ == "__main__":
    status = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=long", __file__, "--no-header"])
    print(int(status))
    sys.exit(status)
