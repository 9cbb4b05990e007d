"""Constant arithmetic: what is small is computed as Python does, what is large is not computed at all."""

from __future__ import annotations

import ast
import math
import operator

import pytest

from afterward.interpret.library.python import arithmetic
from afterward.tasks.check_file import Shared, check_bytes

FAULT = """
import torch
w = torch.ones(3, requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()
"""
LARGE = [
    "math.factorial(10**8)",
    "math.comb(10**9, 5 * 10**8)",
    "math.perm(10**8)",
    "math.perm(10**8, 10**7)",
    "math.lcm(*range(1, 200))",
    "pow(3, 10**9)",
    "3 ** 10 ** 9",
    "(-3) ** 10 ** 9",
    "1 << 10**12",
    "round(10**5, -10**9)",
    "divmod(3 ** 10**8, 7)",
    "'x' * 10**11",
    "10**11 * 'x'",
    "b'x' * 10**11",
    "[0] * 10**11",
    "(0,) * 10**11",
    "'%1000000000d' % 5",
    "'%*d' % (10**9, 5)",
    "'{:>1000000000}'.format(1)",
    "'{:>{}}'.format(1, 10**9)",
    "'{0[0]}{0.real}'.format(1)",
    "('{0}' * 5000).format('9' * 5000)",
    "f'{1:>1000000000}'",
    "'a'.ljust(10**10)",
    "'a'.__mul__(10**10)",
    "'a'.zfill(10**10)",
    "bytes(10**11)",
    "bytearray(10**11)",
    "sum(range(10**12))",
    "max(range(10**12))",
    "list(range(10**12))",
    "'a' in range(10**12)",
    "0.5 in range(10**12)",
    "len(range(10**30))",
    "any(x < 0 for x in range(10**12))",
    "f'{0x" + "f" * 8000 + "}'",
    "str(0x" + "f" * 8000 + ")",
    "int('9' * 5000)",
    "[[[c for c in range(300)] for b in range(300)] for a in range(300)]",
]
GROWING = [
    "xs = [0]\nfor i in range(100): xs += xs",
    "xs = [0]\nfor i in range(100): xs.extend(xs)",
    "xs = [0]\nfor i in range(100): xs = xs + xs",
    "xs = 'a'\nfor i in range(100): xs = xs + xs",
    "xs = 'a'\nfor i in range(100): xs = xs.replace('a', xs)",
    "xs = 'a'\nfor i in range(100): xs = xs.join([xs, xs, xs])",
    "n = 3\nfor i in range(100): n = n * n",
    "n = 3\nfor i in range(100): n = n ** n",
    "from collections import deque\nxs = deque([0])\nfor i in range(100): xs.extend(list(xs))",
]


def codes(source: str) -> list[str]:
    checked = check_bytes("train.py", source.encode(), Shared(), alone=True)
    assert checked.error is None
    assert not any("could not be interpreted" in gap for gap in checked.gaps), checked.gaps
    return [found.code for found in checked.findings]


@pytest.mark.parametrize("expression", LARGE, ids=lambda text: text[:40])
def test_what_is_large_is_not_computed(expression: str) -> None:
    assert codes(f"import math\nlarge = {expression}\nif large == 3: print(large)\n{FAULT}") == ["AFT101"]


@pytest.mark.parametrize("program", GROWING)
def test_nothing_grows_without_bound(program: str) -> None:
    assert codes(f"{program}\n{FAULT}") == ["AFT101"]


@pytest.mark.parametrize("count", ["10**30", "-3", "None"])
@pytest.mark.parametrize(
    "program",
    [
        "for row in torch.randn({count}, 3): print(row)",
        "for at, row in enumerate(torch.randn({count}, 3)): print(at)",
        "for one in itertools.islice([1, 2], {count}): print(one)",
        "for one in itertools.islice([1, 2], 0, 5, {count}): print(one)",
        "last = collections.deque([1, 2], maxlen={count})",
    ],
)
def test_a_count_that_no_container_has_stops_nothing(program: str, count: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERWARD_STRICT", "1")
    head = "import collections, itertools, torch\n"
    assert codes(f"{head}{program.format(count=count)}\n{FAULT}") == ["AFT101"]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (math.factorial, (20,)), (math.comb, (40, 7)), (math.perm, (9, 3)), (math.lcm, (4, 6, 10)), (pow, (2, 64)),
        (pow, (3, 10**6, 7)), (round, (12345, -2)), (round, (1.2345, 2)), (round, (1.5, 10**9)), (math.sqrt, (2.0,)),
        (operator.mul, ([0], 3)), (operator.mod, ("%05d %s", (3, "x"))), (operator.lshift, (1, 20)),
        (operator.pow, (10, -400)), (operator.pow, (2.0, 0.5)), (operator.pow, (1, 10**9)), (operator.mul, ("ab", -5)),
        (int, ("12",)), (str, (10**300,)), (bytes, (4,)),
    ],
)  # fmt: skip
def test_what_is_small_is_what_python_computes(function: object, args: tuple[object, ...]) -> None:
    assert arithmetic.compute(function, args) == function(*args)  # type: ignore[arg-type,operator]


def test_every_operator_of_python_is_there() -> None:
    assert set(arithmetic.OPERATORS) == set(ast.operator.__subclasses__())


def test_a_sum_of_many_is_not_the_sum_of_a_few() -> None:
    wrong = f"if sum(range(1000)) < 20000 or max(range(1000)) < 300: raise SystemExit\n{FAULT}"
    assert codes(wrong) == ["AFT101"]


def test_calls_inside_calls_are_paid_for() -> None:
    nested = "list(map(lambda a: list(map(lambda b: list(map(lambda c: c, range(200))), range(200))), range(200)))"
    checked = check_bytes("train.py", f"import torch\n{nested}\n{FAULT}".encode(), Shared(), alone=True)
    assert any("budget" in gap for gap in checked.gaps)
