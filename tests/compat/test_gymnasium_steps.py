"""CartPole-v1, MountainCar-v0, pendulum and acrobot beside Gymnasium's own, step by step. (MountainCarContinuous-v0:
`tests/peers`.)"""

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.compat.gymnasium import AsGymnasium
from bayesbellman.envs.acrobot import AcrobotSparse
from bayesbellman.envs.base import AbstractControlEnv
from bayesbellman.envs.pendulum import PendulumSparse
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


def test_the_pendulum_moves_as_gymnasium_s(x64: None) -> None:
    """From random states with random torques, a third of them beyond the bounds; then 500 steps on end."""
    env: Any = gymnasium.make("Pendulum-v1").unwrapped
    rng, ours = np.random.default_rng(0), PendulumSparse()
    states = np.column_stack([rng.uniform(-np.pi, np.pi, SIZE), rng.uniform(-8, 8, SIZE)])
    torques = rng.uniform(-3, 3, (SIZE, 1))
    env.reset(seed=0)
    reached = []
    for state, torque in zip(states, torques, strict=True):
        env.state = state.copy()
        env.step(torque)
        reached.append([np.cos(env.state[0]), np.sin(env.state[0]), env.state[1]])
    step = jax.jit(jax.vmap(lambda s, a: ours.step(jax.random.key(0), ours.at(s[0], s[1]), a).state))
    found = jax.vmap(ours.observe)(step(jnp.asarray(states), jnp.asarray(torques)))
    np.testing.assert_allclose(found, reached, rtol=0, atol=1e-13)
    assert (np.abs(np.array(reached)[:, 2]) == 8).sum() > 100

    env.state = np.array([np.pi, 0.0])
    path = []
    for torque in torques[:500]:
        env.step(torque)
        path.append([np.cos(env.state[0]), np.sin(env.state[0]), env.state[1]])

    def on(state: Any, torque: jax.Array) -> tuple[Any, jax.Array]:
        after = ours.step(jax.random.key(0), state, torque).state
        return after, ours.observe(after)

    _, along = jax.lax.scan(on, ours.at(jnp.asarray(np.pi), jnp.asarray(0.0)), jnp.asarray(torques[:500]))
    np.testing.assert_allclose(along, path, rtol=0, atol=1e-9)  # what rounding has grown to on the way
    bounds = ours.spaces
    np.testing.assert_array_equal(bounds.observation.high, env.observation_space.high)
    np.testing.assert_array_equal(bounds.action.high, env.action_space.high)


def test_the_acrobot_moves_as_gymnasium_s(x64: None) -> None:
    """From random states, some fast enough to be clipped, with the three torques that Gymnasium has."""
    env: Any = gymnasium.make("Acrobot-v1").unwrapped
    rng, ours = np.random.default_rng(0), AcrobotSparse()
    states = rng.uniform(-1, 1, (SIZE, 4)) * np.array([np.pi, np.pi, 4 * np.pi, 9 * np.pi])
    states[::2] *= np.array([1.0, 1.0, 0.1, 0.1])  # half of them slow, as they mostly are
    choices = rng.integers(3, size=SIZE)
    env.reset(seed=0)
    reached, ups = [], []
    for state, choice in zip(states, choices, strict=True):
        env.state = state.copy()
        _, _, up, _, _ = env.step(int(choice))
        angles, speeds = env.state[:2], env.state[2:]
        reached.append([np.cos(angles[0]), np.sin(angles[0]), np.cos(angles[1]), np.sin(angles[1]), *speeds])
        ups.append(up)
    step = jax.jit(jax.vmap(lambda s, a: ours.step(jax.random.key(0), ours.at(*s), a[None])))
    outcome = step(jnp.asarray(states), jnp.asarray(choices - 1.0))
    np.testing.assert_allclose(
        jax.vmap(ours.observe)(outcome.state), reached, rtol=0, atol=1e-9
    )  # at full speed RK4 makes rounding larger
    assert (np.abs(np.array(reached)[:, 5]) >= 9 * np.pi - 1e-9).sum() > 100
    np.testing.assert_allclose(outcome.reward, np.array(ups) - 0.1 * np.abs(choices - 1))
    assert 100 < np.sum(ups) < SIZE - 100
    np.testing.assert_array_equal(ours.spaces.observation.high, env.observation_space.high)
    starts = np.stack([env.reset(seed=seed)[0] for seed in range(300)])
    drawn = np.stack([AsGymnasium(ours).reset(seed=seed)[0] for seed in range(3)])
    assert (np.abs(drawn[:, 1]) <= np.sin(0.1)).all()
    assert np.abs(starts[:, 1]).max() > 0.95 * np.sin(0.1)  # the same bound
