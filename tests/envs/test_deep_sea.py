"""Deep Sea beside recorded episodes of bsuite's; `tests/peers_bsuite` runs bsuite itself."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.envs.deep_sea import DeepSea, DeepSeaState, action_mapping

KEY = jax.random.key(0)
RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "bsuite_steps.json").read_text())["deep_sea"]


def along(env: DeepSea, actions: np.ndarray, noise: np.ndarray):
    """State, observation, reward and end after each step."""

    def step(state: DeepSeaState, told: tuple[jax.Array, jax.Array]):
        outcome = env.advance(told[1], state, told[0])
        return outcome.state, (outcome.state, env.observe(outcome.state), outcome.reward, outcome.terminated)

    begun = env.reset(KEY)
    return jax.lax.scan(step, begun, (jnp.asarray(actions, jnp.int32), jnp.asarray(noise, float)))[1]


@pytest.mark.parametrize("sea", RECORDED, ids=[f"size-{sea['size']}-seed-{sea['mapping_seed']}" for sea in RECORDED])
def test_episodes_are_bsuite_s(x64: None, sea: dict) -> None:
    env = DeepSea(sea["size"], sea["mapping_seed"], sea["stochastic"])
    np.testing.assert_array_equal(env.mapping, sea["mapping"])
    column = {name: np.array([episode[name] for episode in sea["episodes"]]) for name in sea["episodes"][0]}
    dive = jax.jit(jax.vmap(lambda actions, noise: along(env, actions, noise)))
    states, seen, rewards, ends = dive(column["actions"], column["noise"])
    cells = np.where(np.asarray(seen).any(axis=-1), np.asarray(seen).argmax(axis=-1), -1)
    np.testing.assert_array_equal(cells, column["cells"])
    np.testing.assert_array_equal(np.asarray(seen).sum(axis=-1), ~column["ends"])
    np.testing.assert_allclose(rewards, column["rewards"], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(ends, column["ends"])
    np.testing.assert_array_equal(states.bad[:, -1], column["bad"])
    alive = ~column["ends"]
    np.testing.assert_array_equal((states.row * env.size + states.column)[alive], cells[alive])


def best_actions(env: DeepSea) -> np.ndarray:
    return np.diag(np.asarray(env.mapping)).copy()


@pytest.mark.parametrize("size", [2, 10, 50])
def test_going_right_has_the_optimal_return_and_is_not_bad(x64: None, size: int) -> None:
    env = DeepSea(size)
    states, _, rewards, _ = along(env, best_actions(env), np.zeros((size, 2)))
    np.testing.assert_allclose(rewards.sum(), 0.99)
    np.testing.assert_allclose(env.optimal_return, 0.99)
    assert not bool(states.bad[-1])


@pytest.mark.parametrize("wrong", [0, 3, 5])
def test_one_wrong_turn_is_enough(wrong: int) -> None:
    env = DeepSea(6)
    actions = best_actions(env)
    actions[wrong] = 1 - actions[wrong]
    states, _, rewards, _ = along(env, actions, np.zeros((6, 2)))
    assert states.bad.tolist() == [False] * wrong + [True] * (6 - wrong)
    assert float(rewards.max()) <= 0


def test_the_optimal_return_of_the_stochastic_one_is_reached_on_average(x64: None) -> None:
    """20,000 episodes of going right at size 4: (3/4)^3 arrive, and the noise of the end is added. A return has
    variance below 1.25, so a standard error below 0.008; all moves are paid for, so that bsuite's number is exact.
    """
    env = DeepSea(4, None, stochastic=True)

    def episode(key: jax.Array) -> jax.Array:
        def step(state: DeepSeaState, key: jax.Array) -> tuple[DeepSeaState, jax.Array]:
            outcome = env.step(key, state, jnp.ones((), jnp.int32))
            return outcome.state, outcome.reward

        return jax.lax.scan(step, env.reset(key), jax.random.split(key, 4))[1].sum()

    returns = jax.jit(jax.vmap(episode))(jax.random.split(KEY, 20_000))
    np.testing.assert_allclose(env.optimal_return, 0.75**3 - 0.01)
    np.testing.assert_allclose(returns.mean(), env.optimal_return, atol=4 * 0.008)


def test_side_by_side_each_has_a_mapping_of_its_own() -> None:
    mappings = np.stack([action_mapping(5, seed) for seed in range(4)])

    def dive(right: jax.Array) -> tuple[jax.Array, jax.Array]:
        states, _, rewards, _ = along(DeepSea(5, right=right), jnp.diag(right), np.zeros((5, 2)))
        return states.bad[-1], rewards.sum()

    bad, returns = jax.jit(jax.vmap(dive))(jnp.asarray(mappings))
    assert not bad.any()
    np.testing.assert_allclose(returns, 0.99, rtol=1e-6)
    assert len({mapping.tobytes() for mapping in mappings}) == 4
    np.testing.assert_array_equal(DeepSea(5, 3).mapping, mappings[3])


def test_an_environment_by_its_seed_can_be_hashed_and_compared() -> None:
    """Bound methods of what holds it are compiled as they are, and a name is found by its settings."""
    assert DeepSea(10) == DeepSea(10, 42)
    assert hash(DeepSea(10)) == hash(DeepSea(10, 42))
    assert DeepSea(10) != DeepSea(10, 7)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="size must be at least 2, got 1"):
        DeepSea(1)
    with pytest.raises(ValueError, match=r"right must have shape \(3, 3\), got \(2, 2\)"):
        DeepSea(3, right=jnp.ones((2, 2), jnp.int32))
