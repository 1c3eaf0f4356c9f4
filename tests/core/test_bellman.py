"""Empirical Bellman functions by hand, and that a push-forward carries omega into the data."""

import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.core import bellman
from bayesbellman.core.types import Transition, effective_discount


def scalars(*numbers: float) -> list:
    return [jnp.asarray(number) for number in numbers]


def test_expected_target() -> None:
    assert bellman.expected_target(*scalars(1.0, 0.5, 4.0)) == 3.0
    assert bellman.expected_target(*scalars(1.0, 0.0, 4.0)) == 1.0  # terminal: nothing follows


def test_greedy_target_takes_the_best_action() -> None:
    reward, discount = scalars(1.0, 0.5)
    assert bellman.greedy_target(reward, discount, jnp.array([2.0, -1.0, 6.0])) == 4.0


def test_soft_target_takes_the_worst_critic_and_pays_for_surprise() -> None:
    reward, discount, log_prob, temperature = scalars(1.0, 0.5, -2.0, 0.1)
    target = bellman.soft_target(reward, discount, jnp.array([3.0, 2.0]), log_prob, temperature)
    np.testing.assert_allclose(target, 1.0 + 0.5 * (2.0 + 0.2), rtol=1e-6)


@pytest.fixture
def two_transitions() -> Transition:
    return Transition(
        observation=jnp.array([[1.0, 0.0], [0.0, 1.0]]),
        action=jnp.array([0, 1]),
        reward=jnp.array([1.0, 2.0]),
        discount=jnp.array([0.5, 0.0]),
        next_observation=jnp.array([[0.0, 2.0], [3.0, 3.0]]),
        weight=jnp.array([1.0, 0.25]),
    )


def test_pushforward_depends_on_omega(two_transitions: Transition) -> None:
    def value(omega, observation, action):
        return observation @ omega

    b = bellman.ExpectedBellman(value)
    samples = bellman.pushforward(b, jnp.array([1.0, 10.0]), two_transitions)
    np.testing.assert_allclose(samples.targets, [1.0 + 0.5 * 20.0, 2.0])
    np.testing.assert_allclose(samples.weights, [1.0, 0.25])
    other = bellman.pushforward(b, jnp.array([1.0, 0.0]), two_transitions)
    np.testing.assert_allclose(other.targets, [1.0, 2.0])


def test_pushforward_pairs_observations_with_actions(two_transitions: Transition) -> None:
    def values(omega, observation):
        return observation * omega

    samples = bellman.pushforward(bellman.GreedyBellman(values), jnp.asarray(2.0), two_transitions)
    np.testing.assert_allclose(samples.targets, [1.0 + 0.5 * 4.0, 2.0])
    observations, actions = samples.inputs
    np.testing.assert_array_equal(observations, two_transitions.observation)
    np.testing.assert_array_equal(actions, [0, 1])


def test_pushforward_of_the_soft_target_uses_the_sampled_actions(two_transitions: Transition) -> None:
    def critics(omega, observation, action):
        return jnp.stack([observation @ omega + action, observation @ omega + 100.0], axis=-1)

    soft = bellman.SoftBellman(critics, temperature=jnp.asarray(0.5))
    next_actions = bellman.SampledAction(jnp.array([1.0, 1.0]), jnp.array([-1.0, -1.0]))
    samples = bellman.pushforward(soft, jnp.array([0.0, 1.0]), two_transitions, next_actions)
    np.testing.assert_allclose(samples.targets, [1.0 + 0.5 * (3.0 + 0.5), 2.0])


@pytest.mark.parametrize("xp", [np, jnp])
def test_a_time_limit_keeps_the_discount(xp) -> None:
    """Only termination cuts the bootstrap; a truncated transition is simply one that did not terminate."""
    np.testing.assert_allclose(effective_discount(0.9, xp.asarray([False, True])), [0.9, 0.0], rtol=1e-6)
