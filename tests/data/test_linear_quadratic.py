"""The linear-quadratic processes: constants, gains and values of the benchmark, and simulation against them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.data.interact import collect
from bayesbellman.data.truth import linear_quadratic_values, optimal_gain
from bayesbellman.envs.linear_quadratic import balanced_cart_pole, linked_pole

GAMMA = 0.95


def test_cart_pole_matrices_are_the_published_ones(x64: None) -> None:
    env = balanced_cart_pole()
    expected = [[1, 0.1, 0, 0], [1 / 3, 1.02, 0, 0], [0, 0, 1, 0.1], [0.981, -4 / 15, 0, 1]]
    np.testing.assert_allclose(env.dynamics, expected, rtol=1e-12)
    np.testing.assert_allclose(env.control[:, 0], [0, -1 / 3, 0, 4 / 15], rtol=1e-12)


def test_cart_pole_gain_and_values_are_the_reference_s(x64: None) -> None:
    env = balanced_cart_pole()
    gain = optimal_gain(env, GAMMA)
    np.testing.assert_allclose(gain[0], [24.901617606257, 5.524317360424, 0.857621732329, 1.721903608972], rtol=1e-9)
    value = linear_quadratic_values(env, gain, np.zeros(1), GAMMA)
    upper = [
        -675.052920532595, -95.652640864528, -55.180771880582, -78.007211206625, -16.715037042339,
        -9.754149310963, -13.964128954494, -12.982626141422, -10.577746221275, -14.374233047759,
    ]  # fmt: skip
    np.testing.assert_allclose(value.matrix[np.triu_indices(4)], upper, rtol=1e-9)
    np.testing.assert_allclose(value.matrix, value.matrix.T, rtol=1e-9)
    np.testing.assert_allclose(value.offset, -2.7311042790742834, rtol=1e-9)
    noisy = linear_quadratic_values(env, gain, np.array([0.001]), GAMMA)
    np.testing.assert_allclose(noisy.offset, -2.74064504101301, rtol=1e-9)


@pytest.mark.parametrize(("noise", "offset"), [(0.4, 7.47172654320967), (0.005, 7.446420331789916)])
def test_linked_pole_is_dead_beat_and_its_values_known(x64: None, noise: float, offset: float) -> None:
    """The optimal policy brings it to rest in two steps: (A + B theta)^2 = 0."""
    env = linked_pole()
    gain = optimal_gain(env, GAMMA)
    closed = np.asarray(env.dynamics) + np.asarray(env.control) @ gain
    identity = np.eye(20)
    np.testing.assert_allclose(closed, np.block([[identity, 0.1 * identity], [-10 * identity, -identity]]), atol=1e-8)
    value = linear_quadratic_values(env, gain, np.full(20, noise), GAMMA)
    np.testing.assert_allclose(np.diagonal(value.matrix)[:20], 0.0195, rtol=1e-8)
    np.testing.assert_allclose(np.diagonal(value.matrix)[20:], 9.5e-5, rtol=1e-6)
    np.testing.assert_allclose(np.diagonal(value.matrix, offset=20), 9.5e-4, rtol=1e-6)
    np.testing.assert_allclose(value.offset, offset, rtol=1e-8)


def test_simulated_returns_agree_with_the_exact_values(x64: None) -> None:
    """4,000 discounted returns of 400 steps from one state (the rest weighs 1e-9): mean within 4 standard errors."""
    start, noise = np.array([0.05, 0.1, -0.2, 0.3]), 0.01
    env = eqx.tree_at(lambda e: e.start, balanced_cart_pole(), jnp.asarray(start))
    gain = optimal_gain(env, GAMMA)

    def policy(key: jax.Array, observation: jax.Array) -> jax.Array:
        return jnp.asarray(gain) @ observation + jnp.sqrt(noise) * jax.random.normal(key, (1,), dtype=observation.dtype)

    def discounted_return(key: jax.Array) -> jax.Array:
        rewards = collect(key, env, policy, 400, GAMMA).transitions.reward
        return jnp.sum(rewards * GAMMA ** jnp.arange(400.0))

    returns = np.asarray(jax.jit(jax.vmap(discounted_return))(jax.random.split(jax.random.key(0), 4_000)))
    exact = linear_quadratic_values(env, gain, np.array([noise]), GAMMA)(start[None])[0]
    assert abs(returns.mean() - exact) < 4 * returns.std() / np.sqrt(len(returns))


def test_an_uncontrollable_process_is_named(x64: None) -> None:
    """Without control the upright pole falls, and its value is infinite."""
    stuck = eqx.tree_at(lambda e: e.control, balanced_cart_pole(), jnp.zeros((4, 1)))
    with pytest.raises(ValueError, match=r"the gain still changes by .* after 50 sweeps; can the control reach"):
        optimal_gain(stuck, GAMMA, most_sweeps=50)
