"""
>>> triple(2)
6
>>> triple(None)
Traceback (most recent call last):
    ...
TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'
>>> triple(1)
4
"""

import doctest


def triple(x):
    """
    >>> triple(5)
    15
    """
    return x * 3


print(doctest.testmod())
