"""Custom functions for random programs, each of a kind that people write."""

from __future__ import annotations

import torch


class Square(torch.autograd.Function):
    """Saves its argument."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class Exponential(torch.autograd.Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return y * grad


class Straight(torch.autograd.Function):
    """Saves nothing and looks at nothing: the straight-through estimator."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Looks(torch.autograd.Function):
    """Saves nothing, but looks at `saved_tensors` all the same."""

    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        _ = ctx.saved_tensors
        return grad * 3


class Keeps(torch.autograd.Function):
    """Saves, and never looks."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Stops(torch.autograd.Function):
    """Returns no gradient for its second argument."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y, None


class Both(torch.autograd.Function):
    """Two results from two arguments."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, first, second):
        x, y = ctx.saved_tensors
        return first * y + second, first * x + second


class Doubles(torch.autograd.Function):
    """Writes to its argument."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


FUNCTIONS = {f.__name__: f for f in (Square, Exponential, Straight, Looks, Keeps, Stops, Both, Doubles)}
