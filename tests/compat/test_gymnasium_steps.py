"""CartPole-v1 and MountainCar-v0 beside Gymnasium's own, step by step. (MountainCarContinuous-v0: `tests/peers`.)"""

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.compat.gymnasium import AsGymnasium
from bayesbellman.envs.base import AbstractControlEnv
from bayesbellman.envs.registry import make_env

SIZE = 5_000


def poles(rng: np.random.Generator) -> np.ndarray:
    """Anywhere, a fifth around either threshold."""
    scale = np.array([2.4, 2.0, 0.21, 3.0])
    states = rng.uniform(-1, 1, (SIZE, 4)) * scale
    for i in (0, 2):
        near = slice(i * SIZE // 10, (i + 1) * SIZE // 10 + SIZE // 10)
        states[near, i] = rng.choice([-1, 1], len(states[near])) * scale[i] * rng.uniform(0.98, 1.02, len(states[near]))
    return states


def cars(rng: np.random.Generator) -> np.ndarray:
    """Anywhere, some at the walls and around the goal."""
    states = np.column_stack([rng.uniform(-1.2, 0.6, SIZE), rng.uniform(-0.07, 0.07, SIZE)])
    states[:200, 0], states[200:400, 0], states[400:1_000, 0] = -1.2, 0.6, rng.uniform(0.4, 0.6, 600)
    return states


def theirs(name: str, states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States reached, in double precision, rewards and ends."""
    env: Any = gymnasium.make(name).unwrapped
    reached, rewards, ends = [], [], []
    for state, action in zip(states, actions, strict=True):
        env.reset(seed=0)
        env.state = state.copy()
        _, reward, terminated, _, _ = env.step(int(action))
        reached.append(np.array(env.state))
        rewards.append(reward)
        ends.append(terminated)
    return np.array(reached), np.array(rewards), np.array(ends)


@pytest.mark.parametrize(("name", "draw"), [("CartPole-v1", poles), ("MountainCar-v0", cars)])
@pytest.mark.parametrize("double", [True, False])
def test_steps_are_gymnasium_s(name: str, draw: Any, double: bool) -> None:
    """From random states with random actions. In float32 an end may differ where the state is at it to rounding."""
    rng = np.random.default_rng(0)
    states, actions = draw(rng), rng.integers(gymnasium.make(name).action_space.n, size=SIZE)
    with jax.enable_x64(double):
        env: Any = make_env(name)
        step = jax.jit(jax.vmap(lambda s, a: env.step(jax.random.key(0), env.at(*s), a)))
        outcome = step(jnp.asarray(states, float), jnp.asarray(actions, jnp.int32))
        found = np.asarray(jax.vmap(env.observe)(outcome.state))
    reached, rewards, ends = theirs(name, states, actions)
    np.testing.assert_allclose(found, reached, rtol=0, atol=1e-14 if double else 1e-6)
    assert found.dtype == (np.float64 if double else np.float32)
    differ = np.asarray(outcome.terminated) != ends
    assert differ.sum() <= (0 if double else 5)
    assert 100 < ends.sum() < SIZE - 100
    np.testing.assert_array_equal(outcome.reward, rewards)


@pytest.mark.parametrize("name", ["CartPole-v1", "MountainCar-v0"])
def test_spaces_starts_and_the_time_limit_are_gymnasium_s(name: str) -> None:
    """Starts: of 300 of each, the lowest and the highest number are within 5 % of their range."""
    env, ours = gymnasium.make(name), AsGymnasium(make_env(name))
    assert ours.observation_space == env.observation_space
    assert ours.action_space == env.action_space
    assert env.spec is not None
    limited: Any = make_env(name)
    assert isinstance(limited, AbstractControlEnv)
    assert limited.time_limit == env.spec.max_episode_steps
    starts = [np.stack([each.reset(seed=seed)[0] for seed in range(300)]) for each in (env, ours)]
    span = starts[0].max(axis=0) - starts[0].min(axis=0)
    for extreme in (np.min, np.max):
        low, high = extreme(starts[0], axis=0), extreme(starts[1], axis=0)
        assert (np.abs(low - high) <= 0.05 * span).all()
