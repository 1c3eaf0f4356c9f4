"""Puddle World's rewards and ends at places that can be worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.envs.puddle_world import DOWN, LEFT, RIGHT, UP, PuddleWorld, depth

KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((0.9, 0.1), 0.0),
        ((0.2, 0.75), 0.1),  # on the first one's axis
        ((0.2, 0.80), 0.05),
        ((0.05, 0.75), 0.05),  # beyond its end
        ((0.45, 0.5), 0.1),  # on the second one's axis
        ((0.45, 0.75), 0.2),  # in the middle of both
        ((0.52, 0.35), max(0.0, 0.1 - float(np.hypot(0.07, 0.05)))),
    ],
)
def test_depth(place: tuple[float, float], expected: float, x64: None) -> None:
    np.testing.assert_allclose(depth(jnp.asarray(place)), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("action", "moved"), [(UP, (0.5, 0.25)), (DOWN, (0.5, 0.15)), (LEFT, (0.45, 0.2)), (RIGHT, (0.55, 0.2))]
)
def test_moves(action: int, moved: tuple[float, float], x64: None) -> None:
    world = PuddleWorld(noise=0.0)
    outcome = world.step(KEY, world.at(jnp.array([0.5, 0.2])), jnp.asarray(action))
    np.testing.assert_allclose(outcome.state.place, moved, atol=1e-12)
    assert float(outcome.reward) == -1.0
    assert not bool(outcome.terminated)


def test_puddles_cost_and_the_goal_ends(x64: None) -> None:
    world = PuddleWorld(noise=0.0)
    wet = world.step(KEY, world.at(jnp.array([0.2, 0.70])), jnp.asarray(UP))
    np.testing.assert_allclose(wet.reward, -1 - 400 * 0.1)
    home = world.step(KEY, world.at(jnp.array([0.97, 0.9])), jnp.asarray(UP))
    assert bool(home.terminated)
    assert float(home.reward) == 0.0
    short = world.step(KEY, world.at(jnp.array([0.97, 0.87])), jnp.asarray(UP))  # 0.01 before it
    assert not bool(short.terminated)
    assert float(short.reward) == -1.0
    edge = world.step(KEY, world.at(jnp.array([0.5, 0.01])), jnp.asarray(DOWN))
    np.testing.assert_allclose(edge.state.place, [0.5, 0.0])


def test_starts_are_anywhere_on_the_square() -> None:
    """1,000 of them: the mean and the deviation of each axis within 5 standard errors (0.009 and 0.004)."""
    places = np.asarray(jax.vmap(lambda key: PuddleWorld().reset(key).place)(jax.random.split(KEY, 1_000)))
    np.testing.assert_allclose(places.mean(axis=0), 0.5, atol=5 * 0.0092)
    np.testing.assert_allclose(places.std(axis=0), np.sqrt(1 / 12), atol=5 * 0.0041)


def test_noise_has_its_deviation(x64: None) -> None:
    """20,000 steps: the deviation on each axis within 5 standard errors of 0.01 (0.5 % each)."""
    world, start = PuddleWorld(), jnp.array([0.5, 0.2])
    places = jax.vmap(lambda key: world.step(key, world.at(start), jnp.asarray(UP)).state.place)(
        jax.random.split(KEY, 20_000)
    )
    np.testing.assert_allclose(places.std(axis=0), 0.01, rtol=5 * 0.005)
    np.testing.assert_allclose(places.mean(axis=0), [0.5, 0.25], atol=5 * 0.01 / np.sqrt(20_000))
