"""The questions the model answers, asked of small worlds made by hand."""

from __future__ import annotations

import pytest

from afterward.model.life import (
    Custom,
    Fault,
    Optimizer,
    Packing,
    Refused,
    Tensor,
    Unmodelled,
    World,
    cuts_between,
    fingerprint,
    is_lost,
    nodes_between,
    paths,
    reached_from,
    times_arrived,
)


def one(world: World, operation: str, *inputs: Tensor) -> Tensor:
    return world.apply(operation, *inputs)[0]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def w(world: World) -> Tensor:
    return world.tensor("w", requires_grad=True)


def test_foreseeing_changes_nothing(world: World, w: Tensor) -> None:
    y = one(world, "exp", w)
    row = one(world, "select", y)
    one(world, "add_scalar_", world.detach(y))
    clock = world.tape.clock
    loss = one(world, "sum_v", row)
    first = world.foresee([row])
    assert first.fault is Fault.MODIFIED
    assert world.tape.clock == clock + 2  # the loss, and the view's node that it asked for
    assert world.foresee([loss]).ran == world.foresee([loss]).ran
    assert w.grad is None
    assert not any(node.released for node in first.ran)


def test_a_foreseen_pass_is_the_pass(world: World, w: Tensor) -> None:
    loss = one(world, "sum", one(world, "mul", w, w))
    foreseen = world.foresee([loss])
    happened = world.backward([loss])
    assert foreseen.freed == happened.freed
    assert foreseen.reached == happened.reached
    assert world.foresee([loss]).node is happened.freed[0]


def test_doubled(world: World, w: Tensor) -> None:
    loss = one(world, "sum", one(world, "mul", w, w))
    world.backward([loss], retain_graph=True)
    single = fingerprint(w)
    world.backward([loss])
    assert times_arrived(w) == 2
    assert single is not None
    assert fingerprint(w) == 2 * single % ((1 << 61) - 1)


def test_zeroing_forgets(world: World, w: Tensor) -> None:
    loss = one(world, "sum", w)
    world.backward([loss])
    world.zero_grad([w], set_to_none=False)
    assert fingerprint(w) == 0
    assert w.grad is not None
    world.zero_grad([w])
    assert fingerprint(w) is None
    assert is_lost(w)


def test_the_sum_of_two_losses_has_the_gradients_of_both() -> None:
    prints = []
    for together in (True, False):
        world = World()
        w = world.tensor("w", requires_grad=True)
        y = one(world, "exp", w)
        a, b = one(world, "sum", y), one(world, "mean", y)
        if together:
            world.backward([one(world, "add_s", a, b)])
        else:
            world.backward([a], retain_graph=True)
            world.backward([b])
        prints.append(fingerprint(w))
    assert prints[0] == prints[1]


def test_a_detach_changes_the_gradient_and_is_found(world: World, w: Tensor) -> None:
    y = one(world, "exp", w)
    kept = world.detach(y)
    loss = one(world, "sum", one(world, "mul", kept, w))
    assert cuts_between(loss, w) == [y]
    assert paths(loss, w) == 1
    whole = one(world, "sum", one(world, "mul", y, w))
    assert cuts_between(whole, w) == []
    assert paths(whole, w) == 2


def test_a_cut_under_no_grad_is_found(world: World, w: Tensor) -> None:
    with world.no_grad():
        y = one(world, "exp", w)
    v = world.tensor("v", requires_grad=True)
    loss = one(world, "sum", one(world, "mul", y, v))
    world.backward([loss])
    assert is_lost(w)
    assert cuts_between(loss, w) == [w]


def test_an_unnoticed_write_changes_the_gradient() -> None:
    prints = []
    for write in (False, True):
        world = World()
        w = world.tensor("w", requires_grad=True)
        y = one(world, "exp", w)
        loss = one(world, "sum", one(world, "mul", y, w))
        if write:
            one(world, "mul_scalar_", world.data(y))
        assert world.backward([loss]).succeeded  # PyTorch does not notice either
        prints.append(fingerprint(w))
    assert prints[0] != prints[1]


def test_a_step_between_forward_and_backward(world: World, w: Tensor) -> None:
    first = one(world, "sum", w)
    second = one(world, "sum", one(world, "mul", w, w))
    world.backward([first])
    optimizer = Optimizer(world, [w])
    optimizer.step()
    outcome = world.backward([second])
    assert outcome.fault is Fault.MODIFIED
    assert outcome.node is not None
    assert outcome.node.name == "MulBackward0"


def test_hooks_that_copy_make_a_write_harmless(world: World, w: Tensor) -> None:
    y = one(world, "exp", w)
    with world.saved_tensors_hooks(Packing.BY_COPY):
        z = one(world, "mul", y, w)
    with world.no_grad():
        one(world, "add_scalar_", y)
    assert world.foresee([one(world, "sum", z)]).fault is Fault.MODIFIED  # exp saved its result before
    assert world.foresee([z], [z]).ran == [z.node]


def test_refusals_while_building(world: World, w: Tensor) -> None:
    with pytest.raises(Refused) as refused:
        world.apply("add_scalar_", w)
    assert refused.value.fault is Fault.LEAF_WRITTEN
    with pytest.raises(Refused) as refused:
        world.requires_grad_(one(world, "exp", w), False)
    assert refused.value.fault is Fault.NOT_LEAF


def test_the_model_says_when_it_does_not_know(world: World, w: Tensor) -> None:
    loss = one(world, "sum", one(world, "softmax", w))
    with pytest.raises(Unmodelled):
        world.backward([loss], create_graph=True)


def test_second_order(world: World, w: Tensor) -> None:
    loss = one(world, "sum", one(world, "mul", one(world, "mul", w, w), w))
    (gradient,) = world.grad([loss], [w], create_graph=True).gradients
    assert gradient is not None
    penalty = one(world, "sum", one(world, "mul", gradient, gradient))
    outcome = world.backward([penalty])
    assert outcome.succeeded
    assert w in outcome.reached
    assert world.foresee([loss]).fault is Fault.SECOND_TIME  # the penalty's pass went through the first graph


def test_a_custom_function_that_returns_none(world: World, w: Tensor) -> None:
    v = world.tensor("v", requires_grad=True)
    (y,) = world.call(Custom("Stops", saves=(-2,), returns=(True, False)), w, v)
    world.backward([one(world, "sum", y)])
    assert not is_lost(w)
    assert is_lost(v)


def test_who_put_a_gradient_there(world: World, w: Tensor) -> None:
    v = world.tensor("v", requires_grad=True)
    y = one(world, "exp", w)
    a, b = one(world, "sum", y), one(world, "sum", v)
    world.backward([a, b])
    world.backward([b])
    assert a.node is not None
    assert b.node is not None
    assert reached_from(w) == [(1, a.node)]
    assert reached_from(v) == [(1, b.node), (2, b.node)]
    assert nodes_between(a, w) == [a.node, y.node]
    assert nodes_between(a, v) == []
