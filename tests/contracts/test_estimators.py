"""Every policy evaluator keeps these promises. To join: one row in CASES."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tests.contracts import promises

from bayesbellman.core.timescales import ConstantStep, PolynomialDecay
from bayesbellman.core.types import Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.gradient_td import GTD2, TD, TDC, DabneyStep
from bayesbellman.evaluation.linear_bbo import (
    BlockLinearBBO,
    RecursiveLinearBBO,
    UninformativeRecursiveLinearBBO,
)
from bayesbellman.evaluation.linear_descent import StochasticLinearBBO
from bayesbellman.evaluation.lstd import LSTD, LSTDPlus
from bayesbellman.evaluation.nonlinear_bbo import GradientFormBBO, TwoTimescaleBBO
from bayesbellman.evaluation.nonlinear_td import NonlinearTD
from bayesbellman.evaluation.residual import BRM, BatchBRM, TraceBRM
from bayesbellman.nn.mlp import LinearFunction
from bayesbellman.posterior.conjugate import ConjugatePosterior
from bayesbellman.posterior.map_estimate import MAPEstimate

NUM_FEATURES = 3


# Made once: a new optimiser or network would be a new program.
SGD = optax.sgd(0.1)


def network(key: jax.Array) -> LinearFunction:
    return LinearFunction(jnp.array([0.3, -0.5, 0.1]))


def model(prior_variance: float) -> ConjugatePosterior:
    return ConjugatePosterior.isotropic(NUM_FEATURES, prior_variance=10.0 * prior_variance)


class Case(NamedTuple):
    name: str
    make: Callable[[float], AbstractEstimator]
    """An estimator with one float setting at the given value."""
    batched: bool
    """An update takes a batch of transitions, not one."""
    random: bool
    """The update draws random numbers."""
    has_float: bool = True
    """There is a float setting at all."""


CASES = [
    Case("recursive", lambda x: RecursiveLinearBBO(model(x)), batched=False, random=False),
    Case(
        "recursive-uninformative",
        lambda x: UninformativeRecursiveLinearBBO(NUM_FEATURES, jnp.asarray(x)),
        batched=False,
        random=False,
    ),
    Case("td", lambda x: TD(NUM_FEATURES, ConstantStep(0.1 * x), 0.5), batched=False, random=False),
    Case("td-dabney", lambda x: TD(NUM_FEATURES, DabneyStep(), jnp.asarray(0.3 * x)), batched=False, random=False),
    Case("gtd2", lambda x: GTD2(NUM_FEATURES, 0.1 * x, 1.0), batched=False, random=False),
    Case("tdc", lambda x: TDC(NUM_FEATURES, 0.1 * x, 1.0, 0.5), batched=False, random=False),
    Case("tdc-to", lambda x: TDC(NUM_FEATURES, 0.1 * x, 1.0, weight_zeta=True), batched=False, random=False),
    Case("lstd-plus", lambda x: LSTDPlus(NUM_FEATURES, x, 0.5), batched=False, random=False),
    Case(
        "lstd-plus-successor", lambda x: LSTDPlus(NUM_FEATURES, x, weighting="successor"), batched=False, random=False
    ),
    Case("lstd", lambda x: LSTD(NUM_FEATURES), batched=False, random=False, has_float=False),
    Case("brm", lambda x: BRM(NUM_FEATURES, x), batched=False, random=False),
    Case("brm-batch", lambda x: BatchBRM(NUM_FEATURES), batched=False, random=False, has_float=False),
    Case("brm-trace", lambda x: TraceBRM(NUM_FEATURES, x, 0.5), batched=False, random=False),
    Case("block", lambda x: BlockLinearBBO(model(x)), batched=True, random=False),
    Case(
        "stochastic",
        lambda x: StochasticLinearBBO(model(1.0), PolynomialDecay(0.01 * x, 0.7)),
        batched=True,
        random=True,
    ),
    Case(
        "two-timescales",
        lambda x: TwoTimescaleBBO(posterior=MAPEstimate(network, SGD, 0.1 * x), slow=SGD, lower_steps=2),
        batched=True,
        random=False,
    ),
    Case(
        "direct",
        lambda x: TwoTimescaleBBO(posterior=MAPEstimate(network, SGD, 0.1 * x), slow=None),
        batched=True,
        random=False,
    ),
    Case(
        "gradient-form",
        lambda x: GradientFormBBO(posterior=MAPEstimate(network, SGD, 0.1 * x), slow=SGD),
        batched=True,
        random=False,
    ),
    Case("td-nonlinear", lambda x: NonlinearTD(network, "none", SGD, SGD, 0.5 * x), batched=True, random=False),
    Case("tdc-nonlinear", lambda x: NonlinearTD(network, "tdc", SGD, SGD, 0.5 * x), batched=True, random=False),
    Case("gtd2-nonlinear", lambda x: NonlinearTD(network, "gtd2", SGD, SGD, 0.5 * x), batched=True, random=False),
]
every_estimator = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
KEY = jax.random.key(0)


def transitions_of(key: jax.Array, size: int) -> Transition:
    k1, k2, k3, k4 = jax.random.split(key, 4)
    return Transition(
        observation=jax.random.normal(k1, (size, NUM_FEATURES)),
        action=None,
        reward=jax.random.normal(k2, (size,)),
        discount=jnp.full((size,), 0.9).at[0].set(0.0),
        next_observation=0.5 * jax.random.normal(k3, (size, NUM_FEATURES)),
        weight=jax.random.uniform(k4, (size,), minval=0.1, maxval=2.0),
    )


# What five updates take, stacked; drawn here, outside any trace, so that no test compiles the drawing of it.
ONE_BY_ONE = jax.tree.map(lambda x: x[:5], transitions_of(KEY, 30))
IN_BATCHES = jax.tree.map(lambda x: x.reshape(5, 6, *x.shape[1:]), transitions_of(KEY, 30))


def updates_of(case: Case) -> Transition:
    return IN_BATCHES if case.batched else ONE_BY_ONE


def one_update_of(case: Case) -> Transition:
    return jax.tree.map(lambda x: x[0], updates_of(case))


def learn(case: Case, estimator: AbstractEstimator, key: jax.Array) -> tuple[Any, Any]:
    """A scan over updates, as the runner does it."""
    return _learn(estimator, key, updates_of(case))


@jax.jit
def _learn(estimator: AbstractEstimator, key: jax.Array, updates: Transition) -> tuple[Any, Any]:
    def step(state: Any, inputs: Any) -> tuple[Any, Any]:
        return estimator.update(inputs[0], state, inputs[1])

    return jax.lax.scan(step, estimator.init(key), (jax.random.split(key, 5), updates))


@every_estimator
def test_jit_equals_eager(case: Case) -> None:
    estimator = case.make(1.0)
    state, _ = learn(case, estimator, KEY)
    promises.jit_equals_eager(estimator.init, KEY)
    promises.jit_equals_eager(estimator.update, KEY, state, one_update_of(case))
    promises.jit_equals_eager(estimator.value, state, transitions_of(KEY, 4).observation)


@every_estimator
def test_vmap_equals_loop(case: Case) -> None:
    estimator = case.make(1.0)
    promises.vmap_equals_loop(lambda key: learn(case, estimator, key), jax.random.split(KEY, 3))


@every_estimator
def test_one_seed_repeats_and_two_differ(case: Case) -> None:
    estimator = case.make(1.0)

    def run(key: jax.Array) -> Any:
        return learn(case, estimator, key)

    promises.same_seed_repeats(run)
    if case.random:
        promises.two_seeds_differ(run)
    else:
        promises.assert_same_bits(run(jax.random.key(7)), run(jax.random.key(8)))


@every_estimator
def test_changed_float_does_not_recompile(case: Case) -> None:
    if not case.has_float:
        return
    inputs = transitions_of(KEY, 4).observation
    promises.changed_float_does_not_recompile(lambda e: e.value(learn(case, e, KEY)[0], inputs), case.make)


@every_estimator
def test_floats_can_be_swept_with_vmap(case: Case) -> None:
    if not case.has_float:
        return
    sweep = jax.tree.map(lambda *xs: jnp.stack([jnp.asarray(x) for x in xs]), case.make(1.0), case.make(1.7))
    swept = jax.vmap(lambda e: learn(case, e, KEY)[0])(sweep)
    for i, setting in enumerate((1.0, 1.7)):
        promises.assert_close(jax.tree.map(lambda x, i=i: x[i], swept), learn(case, case.make(setting), KEY)[0])


@every_estimator
def test_state_can_be_scanned(case: Case) -> None:
    estimator = case.make(1.0)
    promises.state_can_be_scanned(lambda s: estimator.update(KEY, s, one_update_of(case))[0], estimator.init(KEY))


@every_estimator
def test_an_episodes_start_keeps_what_was_learnt(case: Case) -> None:
    estimator = case.make(1.0)
    state, _ = learn(case, estimator, KEY)
    inputs = transitions_of(KEY, 4).observation
    begun = estimator.begin_episode(state)
    promises.assert_same_bits(estimator.value(begun, inputs), estimator.value(state, inputs))
    promises.state_can_be_scanned(estimator.begin_episode, state)


@every_estimator
def test_values_have_one_number_an_input(case: Case) -> None:
    estimator = case.make(1.0)
    state, _ = learn(case, estimator, KEY)
    inputs = transitions_of(KEY, 4).observation
    values = estimator.value(state, inputs)
    assert values.shape == (4,)
    np.testing.assert_allclose(values[2], estimator.value(state, inputs[2]), rtol=1e-5)


@every_estimator
def test_absorbing_a_stretch_is_updating_through_it(case: Case) -> None:
    """Also with an episode beginning in its middle. What is taken as a batch is one update."""
    estimator = case.make(1.0)
    state, stretch = estimator.init(KEY), one_update_of(case) if case.batched else ONE_BY_ONE
    restarts = jnp.arange(stretch.reward.shape[0]) == 2
    absorbed = jax.jit(lambda *a: estimator.absorb(*a))(KEY, state, stretch, restarts)
    if case.batched:
        promises.assert_close(absorbed, estimator.update(KEY, state, stretch)[0])
        return
    for i in range(5):
        state = estimator.begin_episode(state) if i == 2 else state
        state = estimator.update(KEY, state, jax.tree.map(lambda x, i=i: x[i], stretch))[0]
    promises.assert_close(absorbed, state)
