"""MountainCar beside Gymnasium's own, step by step; our environments before Gymnasium's checker."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from bayesbellman.compat.gymnasium import AsGymnasium, check_environment
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.envs.puddle_world import PuddleWorld
from bayesbellman.envs.registry import ENVIRONMENTS, make_env


def test_mountain_car_is_gymnasium_s() -> None:
    """20,000 steps from random states with random actions, some beyond their bounds; Gymnasium keeps float32 states."""
    theirs = gymnasium.make("MountainCarContinuous-v0").unwrapped
    ours, rng = MountainCar(), np.random.default_rng(0)
    size = 20_000
    states = np.column_stack([rng.uniform(-1.2, 0.6, size), rng.uniform(-0.07, 0.07, size)]).astype(np.float32)
    states[:200, 0], states[200:400, 0], states[400:800, 0] = -1.2, 0.6, rng.uniform(0.4, 0.5, 400)
    actions = rng.uniform(-1.5, 1.5, (size, 1)).astype(np.float32)
    step = jax.jit(jax.vmap(lambda s, a: ours.step(jax.random.key(0), ours.at(s[0], s[1]), a)))
    outcome = step(jnp.asarray(states), jnp.asarray(actions))
    theirs.reset(seed=0)
    found, rewards, ends = [], [], []
    for state, action in zip(states, actions, strict=True):
        theirs.state = state.copy()
        observation, reward, terminated, _, _ = theirs.step(action)
        found.append(observation)
        rewards.append(reward)
        ends.append(terminated)
    observed = np.stack([outcome.state.position, outcome.state.velocity], axis=1)
    np.testing.assert_allclose(observed, np.array(found), atol=2e-7)
    near = np.abs(observed[:, 0] - 0.45) < 1e-6  # where float32 and float64 may fall on either side of the goal
    np.testing.assert_array_equal(np.asarray(outcome.terminated)[~near], np.array(ends)[~near])
    assert np.array(ends).sum() > 100
    np.testing.assert_allclose(np.asarray(outcome.reward)[~near], np.array(rewards)[~near], atol=1e-4)


def test_the_time_limit_is_gymnasium_s() -> None:
    theirs = gymnasium.make("MountainCarContinuous-v0")
    theirs.reset(seed=0)
    steps = 0
    truncated = False
    while not truncated:
        *_, truncated, _ = theirs.step(np.zeros(1, dtype=np.float32))
        steps += 1
    assert steps == MountainCar().time_limit


# The checker advises against infinite bounds, and those of the cart-pole are true; and for actions within [-1, 1], but
# the pendulum has Gymnasium's own torques.
@pytest.mark.filterwarnings("ignore:.*A Box observation space m(in|ax)imum value is -?infinity")
@pytest.mark.filterwarnings("ignore:.*we recommend using a symmetric and normalized space")
@pytest.mark.parametrize("name", [*ENVIRONMENTS, "deep-sea-4", "deep-sea-stochastic-4", "puddle-world"])
def test_gymnasium_s_checker_finds_nothing(name: str) -> None:
    env = AsGymnasium(PuddleWorld() if name == "puddle-world" else make_env(name))
    check_env(env, skip_render_check=True)  # there is nothing to render
    assert check_environment(env) == []
