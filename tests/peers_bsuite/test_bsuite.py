"""Deep Sea and the swing-up beside bsuite's own, step by step. Needs bsuite's environment (make test-peers)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bsuite.experiments.cartpole_swingup import sweep
from tests.golden.bsuite_steps import deep_sea, dives, random_starts, straight, swing, swing_up

from bayesbellman.envs.cart_pole_swing_up import SETTINGS, bsuite_swing_up
from bayesbellman.envs.deep_sea import DeepSea, DeepSeaState
from bayesbellman.envs.registry import make_env

KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def along(env: DeepSea, actions: jax.Array, noise: jax.Array):
    def step(state: DeepSeaState, told: tuple[jax.Array, jax.Array]):
        outcome = env.advance(told[1], state, told[0])
        return outcome.state, (outcome.state, env.observe(outcome.state), outcome.reward, outcome.terminated)

    return jax.lax.scan(step, env.reset(KEY), (actions, noise))[1]


@pytest.mark.parametrize("stochastic", [False, True])
@pytest.mark.parametrize("mapping_seed", [None, 0, 1, 42])
@pytest.mark.parametrize("size", [2, 3, 10, 20, 50])
def test_deep_sea_is_bsuite_s(size: int, mapping_seed: int | None, stochastic: bool) -> None:
    """60 episodes of random, best and nearly best actions, both told the same noise."""
    theirs, ours = deep_sea(size, mapping_seed, stochastic), DeepSea(size, mapping_seed, stochastic)
    np.testing.assert_array_equal(ours.mapping, theirs._action_mapping)
    np.testing.assert_allclose(ours.optimal_return, theirs._optimal_return)
    recorded = dives(theirs, np.random.default_rng(size), 60)
    column = {name: np.array([episode[name] for episode in recorded]) for name in recorded[0]}
    actions = jnp.asarray(column["actions"], jnp.int32)
    run = jax.jit(jax.vmap(lambda actions, noise: along(ours, actions, noise)))
    states, seen, rewards, ends = run(actions, jnp.asarray(column["noise"]))
    seen = np.asarray(seen)
    np.testing.assert_array_equal(np.where(seen.any(axis=-1), seen.argmax(axis=-1), -1), column["cells"])
    np.testing.assert_array_equal(seen.sum(axis=-1), ~column["ends"])
    np.testing.assert_allclose(rewards, column["rewards"], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(ends, column["ends"])
    np.testing.assert_array_equal(states.bad[:, -1], column["bad"])
    assert 0 < column["bad"].sum() < 60


@pytest.mark.parametrize("size", [10, 30])
def test_the_named_one_is_that_of_bsuite_s_experiment(size: int) -> None:
    env: Any = make_env(f"deep-sea-{size}")
    np.testing.assert_array_equal(np.diag(env.mapping), straight(deep_sea(size, 42)))


def test_chance_in_the_stochastic_one_is_bsuite_s() -> None:
    """Each drawing its own noise, 20,000 episodes of going right at size 5: the share whose treasure is reached, and
    mean and deviation of the last reward. Standard errors of the differences: 0.005, 0.011 and 0.008; within 4.
    """
    size, episodes = 5, 20_000
    theirs = deep_sea(size, None, stochastic=True)
    theirs._rng = np.random.RandomState(0)
    ours = DeepSea(size, None, stochastic=True)
    last = []
    for _ in range(episodes):
        theirs.reset()
        last.append([theirs.step(1).reward for _ in range(size)][-1])
    treasures = theirs.bsuite_info()["denoised_return"] / episodes

    def episode(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(state: DeepSeaState, key: jax.Array):
            outcome = ours.step(key, state, jnp.ones((), jnp.int32))
            return outcome.state, (state.column == size - 1, outcome.reward)

        found, rewards = jax.lax.scan(step, ours.reset(key), jax.random.split(key, size))[1]
        return found[-1], rewards[-1]

    found, rewards = jax.jit(jax.vmap(episode))(jax.random.split(KEY, episodes))
    np.testing.assert_allclose(found.mean(), treasures, atol=4 * 0.005)
    np.testing.assert_allclose(rewards.mean(), np.mean(last), atol=4 * 0.011)
    np.testing.assert_allclose(rewards.std(), np.std(last), atol=4 * 0.008)


@pytest.mark.parametrize("setting", [0, 7, 10, 19])
def test_the_swing_up_is_bsuite_s(setting: int) -> None:
    """Episodes of 30 random steps from 300 states, a half around where rewards begin; bsuite observes in float32."""
    rng = np.random.default_rng(setting)
    theirs, ours = swing_up(setting), bsuite_swing_up(setting)
    step = jax.jit(lambda s, a: ours.step(KEY, s, a))
    observe = jax.jit(lambda s: ours.observe(s))
    paid = ended = 0
    for start in random_starts(rng, 300):
        path = swing(theirs, start, rng.integers(3, size=30))
        state = ours.at(*map(jnp.asarray, start))
        for action, seen, reward, end in zip(
            path["actions"], path["observations"][1:], path["rewards"], path["ends"], strict=True
        ):
            outcome = step(state, jnp.asarray(action, jnp.int32))
            state, paid, ended = outcome.state, paid + (reward > 0), ended + end
            np.testing.assert_allclose(observe(state), seen, rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(outcome.reward, reward, atol=1e-15)
            assert bool(outcome.terminated) == end
    assert paid
    assert ended


def test_a_whole_episode_of_it_is_bsuite_s() -> None:
    """Gentle pushes, which keep the cart on the rail: 1,001 steps and the clock's end; errors may add up to 1e-6."""
    actions = np.tile([2, 1, 1, 0, 0, 1, 1, 2], 200)
    path = swing(swing_up(0), np.array([0.01, 0.0, np.pi, 0.0]), actions)
    assert (len(path["ends"]), path["ends"].index(True)) == (1_001, 1_000)
    env = bsuite_swing_up()

    def step(state, action: jax.Array):
        outcome = env.step(KEY, state, action)
        return outcome.state, (env.observe(outcome.state), outcome.reward, outcome.terminated)

    begun = env.at(*map(jnp.asarray, path["start"]))
    _, (seen, rewards, ends) = jax.lax.scan(step, begun, jnp.asarray(path["actions"], jnp.int32))
    np.testing.assert_allclose(seen, path["observations"][1:], atol=1e-6)
    np.testing.assert_allclose(rewards, path["rewards"], atol=1e-12)
    np.testing.assert_array_equal(ends, path["ends"])


def test_settings_are_those_of_bsuite_s_sweep() -> None:
    assert len(sweep.SETTINGS) == SETTINGS
    for number, thresholds in enumerate(sweep.SETTINGS):
        ours = bsuite_swing_up(number)
        assert {name: getattr(ours, name) for name in thresholds} == thresholds
