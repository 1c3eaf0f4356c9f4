"""Policies: what they do, how likely they say it was, and the weights that follow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.nn.features import QuadraticFeatures, SquareFeatures, TableFeatures, random_features
from bayesbellman.nn.policies import LinearGaussianPolicy, TabularPolicy, importance_weight

GAIN = jnp.array([[1.0, -2.0], [0.5, 0.0]])
KEYS = jax.random.split(jax.random.key(0), 20_000)


def test_gaussian_actions_have_the_mean_and_variance_they_should(x64: None) -> None:
    """20,000 actions: means within 5 standard errors (0.0035 and less), variances within 5 % (5 errors of 1 %)."""
    policy, observation = LinearGaussianPolicy(jnp.asarray(GAIN, dtype=float), jnp.array([0.25, 0.04])), jnp.ones(2)
    actions = jax.vmap(lambda key: policy(key, observation))(KEYS)
    np.testing.assert_allclose(actions.mean(0), [-1.0, 0.5], atol=5 * 0.0036)
    np.testing.assert_allclose(actions.var(0), [0.25, 0.04], rtol=0.05)


def test_gaussian_density_against_the_formula(x64: None) -> None:
    policy = LinearGaussianPolicy(jnp.asarray(GAIN, dtype=float), jnp.array([0.25, 0.04]))
    error = np.array([0.3, -0.1])
    expected = np.prod(np.exp(-(error**2) / (2 * np.array([0.25, 0.04]))) / np.sqrt(2 * np.pi * np.array([0.25, 0.04])))
    action = jnp.array([-1.0, 0.5]) + error
    np.testing.assert_allclose(jnp.exp(policy.log_density(jnp.ones(2), action)), expected, rtol=1e-12)


def test_weights_average_to_one(x64: None) -> None:
    """E[w] = 1 under the behaviour policy: within 5 standard errors, measured."""
    target, behaviour = (LinearGaussianPolicy(jnp.asarray(GAIN, dtype=float), jnp.full(2, v)) for v in (0.05, 0.1))
    observation = jnp.ones(2)

    def weight(key: jax.Array) -> jax.Array:
        return importance_weight(target, behaviour, observation, behaviour(key, observation))

    weights = np.asarray(jax.vmap(weight)(KEYS))
    assert abs(weights.mean() - 1) < 5 * weights.std() / np.sqrt(len(weights))
    assert weights.std() > 0.3  # they do vary


def test_the_published_density_makes_twenty_dimensional_weights_724_times_too_small(x64: None) -> None:
    gain, observation, action = jnp.zeros((20, 3)), jnp.ones(3), jnp.full(20, 0.03)

    def weight(as_published: bool) -> jax.Array:
        target, behaviour = (LinearGaussianPolicy(gain, jnp.full(20, v), as_published) for v in (0.005, 0.01))
        return importance_weight(target, behaviour, observation, action)

    np.testing.assert_allclose(weight(False) / weight(True), 1024 / np.sqrt(2), rtol=1e-10)
    np.testing.assert_allclose(weight(True), np.sqrt(2) * np.exp(-50 * 20 * 0.03**2), rtol=1e-10)


def test_tabular_policy(x64: None) -> None:
    """20,000 actions in one state: frequencies within 5 standard errors of at most 0.36 %; the density is the table."""
    table = jnp.array([[0.2, 0.8], [0.5, 0.5]])
    policy = TabularPolicy(table)
    actions = jax.vmap(lambda key: policy(key, jnp.asarray(0)))(KEYS)
    assert abs(float(actions.mean()) - 0.8) < 5 * 0.0029
    np.testing.assert_allclose(policy.log_density(jnp.asarray(0), jnp.asarray(1)), np.log(0.8))


@pytest.mark.parametrize("states", [3, 1])
def test_quadratic_features_represent_any_quadratic_value(states: int, x64: None) -> None:
    rng = np.random.default_rng(0)
    half = rng.normal(size=(states, states))
    matrix, s = half + half.T, rng.normal(size=(5, states))
    features = QuadraticFeatures(jnp.ones(states * (states + 1) // 2 + 1))
    omega = np.append(matrix[np.triu_indices(states)], 0.7)
    expected = np.einsum("bi,ij,bj->b", s, matrix, s) + 0.7
    np.testing.assert_allclose(features(jnp.asarray(s)) @ omega, expected, rtol=1e-12)
    assert features.num_features == omega.size


def test_square_and_table_features(x64: None) -> None:
    squares = SquareFeatures(jnp.array([2.0, 4.0]))
    np.testing.assert_allclose(squares(jnp.array([[2.0, 4.0]])), [[2.0, 4.0]])
    table = random_features(1, 6, 3)
    assert TableFeatures(table)(jnp.array([[0, 5]])).shape == (1, 2, 3)
    np.testing.assert_array_equal(table[:, -1], 1.0)
