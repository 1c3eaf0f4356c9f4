"""Every posterior keeps these promises. To join: one row in CASES."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import pytest
from tests.contracts import promises

from bayesbellman.core.types import BellmanSamples
from bayesbellman.nn.mlp import LinearFunction
from bayesbellman.posterior.base import AbstractPosterior
from bayesbellman.posterior.conjugate import ConjugatePosterior
from bayesbellman.posterior.map_estimate import MAPEstimate
from bayesbellman.posterior.randomised_prior import RandomisedPrior

NUM_FEATURES = 3


class Case(NamedTuple):
    name: str
    make: Callable[[float], AbstractPosterior]
    """A posterior with one float setting at the given value."""
    inputs: Callable[[jax.Array, int], Any]
    """``(key, batch size) -> inputs``"""
    updates_add_up: bool
    """Two batches one after the other are the same as both at once."""
    random: bool = True
    """Sampling gives more than one operator."""


# Made once: a new optimiser or network would be a new program.
SGD = optax.sgd(0.1)


def network(key: jax.Array) -> LinearFunction:
    return LinearFunction(jax.random.normal(key, (NUM_FEATURES,)))


def features(key: jax.Array, size: int) -> jax.Array:
    return jax.random.normal(key, (size, NUM_FEATURES))


CASES = [
    Case(
        "conjugate",
        lambda x: ConjugatePosterior.isotropic(NUM_FEATURES, prior_variance=10.0, noise_variance=x),
        lambda key, n: jax.random.normal(key, (n, NUM_FEATURES)),
        updates_add_up=True,
    ),
    Case(
        "map", lambda x: MAPEstimate(network, SGD, 0.1, noise_variance=x), features, updates_add_up=False, random=False
    ),
    Case(
        "randomised-prior-anchored",
        lambda x: RandomisedPrior(MAPEstimate(network, SGD, 0.1, noise_variance=x), 5, "anchored"),
        features,
        updates_add_up=False,
    ),
    Case(
        "randomised-prior-function",
        lambda x: RandomisedPrior(MAPEstimate(network, SGD, 0.1), 5, "function", 2.0 * x),
        features,
        updates_add_up=False,
    ),
]
every_posterior = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
KEY = jax.random.key(0)


@partial(jax.jit, static_argnums=(0, 2))
def samples_of(case: Case, key: jax.Array, size: int = 6) -> BellmanSamples:
    k1, k2, k3 = jax.random.split(key, 3)
    return BellmanSamples(
        inputs=case.inputs(k1, size),
        targets=jax.random.normal(k2, (size,)),
        weights=jax.random.uniform(k3, (size,), minval=0.1, maxval=2.0),
    )


@cache
def learnt(case: Case) -> tuple[AbstractPosterior, Any]:
    posterior = case.make(1.0)
    return posterior, jax.jit(lambda samples: posterior.update(KEY, posterior.init(KEY), samples)[0])(
        samples_of(case, KEY)
    )


@every_posterior
def test_jit_equals_eager(case: Case) -> None:
    posterior, state = learnt(case)
    promises.jit_equals_eager(posterior.init, KEY)
    promises.jit_equals_eager(posterior.update, KEY, state, samples_of(case, KEY))
    promises.jit_equals_eager(posterior.sample, KEY, state)
    promises.jit_equals_eager(posterior.predict, state, case.inputs(KEY, 4))


@every_posterior
def test_vmap_equals_loop(case: Case) -> None:
    posterior = case.make(1.0)

    @jax.jit
    def learn_and_sample(key: jax.Array, samples: BellmanSamples) -> Any:
        state, metrics = posterior.update(key, posterior.init(key), samples)
        return state, metrics, posterior.sample(key, state), posterior.predict(state, samples.inputs)

    keys = jax.random.split(KEY, 3)
    promises.vmap_equals_loop(learn_and_sample, keys, jax.vmap(lambda k: samples_of(case, k))(keys))


@every_posterior
def test_one_seed_repeats_and_two_differ(case: Case) -> None:
    posterior, state = learnt(case)
    sample = jax.jit(lambda key: posterior.sample(key, state))
    promises.same_seed_repeats(sample)
    if case.random:
        promises.two_seeds_differ(sample)


@every_posterior
def test_changed_float_does_not_recompile(case: Case) -> None:
    @jax.jit
    def evaluate(posterior: AbstractPosterior, samples: BellmanSamples) -> Any:
        state, _ = posterior.update(KEY, posterior.init(KEY), samples)
        return posterior.predict(state, samples.inputs)

    promises.changed_float_does_not_recompile(evaluate, case.make, samples_of(case, KEY))


@every_posterior
def test_state_can_be_scanned(case: Case) -> None:
    posterior, state = learnt(case)
    promises.state_can_be_scanned(lambda s: posterior.update(KEY, s, samples_of(case, KEY))[0], state)


@every_posterior
def test_updates_add_up(case: Case) -> None:
    if not case.updates_add_up:
        return
    posterior, samples = case.make(1.0), samples_of(case, KEY, 10)
    update = jax.jit(lambda state, part: posterior.update(KEY, state, part)[0])
    whole = update(posterior.init(KEY), samples)
    state = posterior.init(KEY)
    for part in (slice(0, 3), slice(3, 4), slice(4, 10)):
        state = update(state, jax.tree.map(lambda x, part=part: x[part], samples))
    promises.assert_close(state, whole)


@every_posterior
def test_predictive_parts_are_variances(case: Case) -> None:
    posterior, state = learnt(case)
    predictive = posterior.predict(state, case.inputs(KEY, 5))
    assert predictive.mean.shape == predictive.epistemic.shape == predictive.aleatoric.shape == (5,)
    assert bool(jnp.all(predictive.epistemic >= 0))
    assert bool(jnp.all(predictive.aleatoric >= 0))
    promises.assert_close(predictive.variance, predictive.epistemic + predictive.aleatoric)


@every_posterior
def test_samples_scatter_as_the_predictive_says(case: Case) -> None:
    """Mean and epistemic variance against 20,000 sampled operators, within 5 standard errors at each of 4 inputs.

    A Gaussian's sample variance has relative standard error sqrt(2/20000) = 1 %. For an approximate posterior that is
    not linear in its parameters this compares its own `sample` with its own `predict`, which must agree all the same.
    """
    posterior, state = learnt(case)
    inputs, draws = case.inputs(KEY, 4), 20_000

    def operator(key: jax.Array) -> jax.Array:
        phi = posterior.sample(key, state)
        return phi(inputs) if callable(phi) else inputs @ phi

    sampled = jax.jit(jax.vmap(operator))(jax.random.split(KEY, draws))
    predictive = posterior.predict(state, inputs)
    if not case.random:
        promises.assert_close(sampled[0], predictive.mean)
        return
    error_of_mean = jnp.sqrt(predictive.epistemic / draws)
    assert bool(jnp.all(jnp.abs(sampled.mean(0) - predictive.mean) < 5 * error_of_mean))
    relative = jnp.abs(sampled.var(0) / predictive.epistemic - 1)
    assert bool(jnp.all(relative < 5 * (2 / draws) ** 0.5))
