"""The three problems of the network experiments: their data, and their true values against other roads to them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.data.nonlinear_problems import GAMMA, PROBLEMS, bang_bang, grid
from bayesbellman.data.rollout_values import rollout_values
from bayesbellman.data.truth import finite_values
from bayesbellman.envs.finite import boyan_chain
from bayesbellman.envs.mountain_car import MountainCar

KEY = jax.random.key(0)


@pytest.mark.parametrize("name", ["puddle-world", "mountain-car"])
def test_transitions_start_anywhere_on_their_own(name: str) -> None:
    """Uniform over the square: mean 0 and variance 1/3 within 5 standard errors; consecutive ones do not join."""
    data = PROBLEMS[name].draw(KEY, 4_000)
    start = np.asarray(data.observation)
    assert np.abs(start).max() <= 1
    assert (np.abs(start.mean(0)) < 5 * np.sqrt(1 / 3 / 4_000)).all()
    assert (np.abs(start.var(0) - 1 / 3) < 5 * np.sqrt(4 / 45 / 4_000)).all()
    assert not np.isclose(data.next_observation[:-1], data.observation[1:]).all(axis=1).any()
    np.testing.assert_allclose(np.unique(data.discount), [0.0, GAMMA], rtol=1e-6)


def test_puddle_world_goes_up_or_down_evenly() -> None:
    data = PROBLEMS["puddle-world"].draw(KEY, 4_000)
    inside = np.abs(np.asarray(data.observation)[:, 1]) < 0.8  # no wall within a step
    rise = np.asarray(data.next_observation - data.observation)[inside, 1]  # 0.05 of [0, 1] is 0.1 of [-1, 1]
    assert abs(np.abs(rise).mean() - 0.1) < 5 * 0.02 / np.sqrt(inside.sum())  # the noise's deviation is 0.02 there
    across = np.asarray(data.next_observation - data.observation)[np.abs(np.asarray(data.observation)[:, 0]) < 0.8, 0]
    assert abs(across.mean()) < 5 * 0.02 / np.sqrt(len(across))
    assert np.abs(across).max() < 6 * 0.02
    assert abs((rise > 0).mean() - 0.5) < 5 * np.sqrt(0.25 / inside.sum())


def test_mountain_car_pushes_the_way_it_moves() -> None:
    assert float(bang_bang(KEY, jnp.array([0.0, 0.01]))[0]) == 1.0
    assert float(bang_bang(KEY, jnp.array([0.0, 0.0]))[0]) == -1.0
    data = PROBLEMS["mountain-car"].draw(KEY, 500)
    np.testing.assert_allclose(np.asarray(data.reward)[np.asarray(data.discount) > 0], -0.1, rtol=1e-5)


def test_mountain_car_values_are_those_of_a_loop_written_out() -> None:
    truth = PROBLEMS["mountain-car"].truth(1)
    places = grid(MountainCar().low, MountainCar().high)
    assert truth.inputs.shape == (625, 2)
    assert truth.stderr.max() == 0
    for at in (0, 77, 312, 500, 624):
        x, v = (np.float32(number) for number in places[at])
        total, worth = 0.0, 1.0
        for _ in range(1000):
            force = 1.0 if v > 0 else -1.0
            v = np.clip(v + np.float32(0.0015 * force) - np.float32(0.0025) * np.cos(3 * x), -0.07, 0.07)
            x = np.clip(x + v, -1.2, 0.6)
            v = np.float32(0) if x == np.float32(-1.2) and v < 0 else v
            done = x >= 0.45 and v >= 0
            total += worth * (100.0 * done - 0.1)
            worth *= GAMMA
            if done:
                break
        # float32 rounds a threshold one way or the other: a step more or less is 2 % of the value
        assert abs(truth.values[at] - total) < 0.021 * abs(total) + 0.1, at


def test_pendulum_values_solve_the_bellman_equation(x64: None) -> None:
    """E[r + gamma V(s')] = V(s) over one step from a state that data passed: exactly, by drawing 20,000 successors."""
    problem = PROBLEMS["twenty-link"]
    truth = problem.truth(1)
    assert truth.inputs.shape == (5_000, 40)
    data = problem.draw(KEY, 3_000)
    np.testing.assert_array_equal(data.next_observation[:-1], data.observation[1:])  # one trajectory
    from bayesbellman.data.nonlinear_problems import ACTION_NOISE, _pendulum_gain
    from bayesbellman.data.truth import linear_quadratic_values
    from bayesbellman.envs.linear_quadratic import linked_pole

    value = linear_quadratic_values(linked_pole(), _pendulum_gain(), np.full(20, ACTION_NOISE), GAMMA)
    error = np.asarray(data.reward) + GAMMA * value(data.next_observation) - value(data.observation)
    assert abs(error[100:].mean()) < 5 * error[100:].std() / np.sqrt(2_900)  # a martingale: errors are uncorrelated


def test_rollouts_of_a_chain_agree_with_its_exact_values() -> None:
    """Boyan's chain from its first state: within 5 standard errors of the linear system's solution."""
    mdp = boyan_chain()
    exact = finite_values(mdp, np.ones((14, 1)), 0.95)

    def begin(place: jax.Array):
        state = mdp.reset(KEY)
        return type(state)(place[0].astype(jnp.int32), state.time)

    found = rollout_values(KEY, mdp, lambda key, state: jnp.zeros((), jnp.int32), begin, np.zeros((2, 1)), 0.95, 500)
    assert (np.abs(found.values - exact[0]) < 5 * found.stderr + 1e-3).all()
    assert (found.stderr > 0).all()


def test_the_standard_error_of_two_possible_returns_is_that_of_their_share() -> None:
    """From state 11 of Boyan's chain: -3 to the end, or -3 and then -2, each with probability 1/2."""
    mdp = boyan_chain()

    def begin(place: jax.Array):
        return type(mdp.reset(KEY))(place[0].astype(jnp.int32), jnp.zeros((), jnp.int32))

    places = np.full((1, 1), 11.0)
    found = rollout_values(KEY, mdp, lambda key, state: jnp.zeros((), jnp.int32), begin, places, 0.95, 400, 10)
    share = (-3 - found.values) / 1.9
    np.testing.assert_allclose(share, 0.5, atol=5 * 0.025)
    np.testing.assert_allclose(found.stderr, 1.9 * np.sqrt(share * (1 - share) / 399), rtol=1e-4)


def test_chunks_are_all_counted() -> None:
    """Nothing is random on MountainCar: any number of rollouts in any chunks gives the same values."""
    env = MountainCar(time_limit=0)
    places = grid(env.low, env.high, 3)

    def begin(place: jax.Array):
        return env.at(place[0], place[1])

    def values(rollouts: int, chunk: int) -> np.ndarray:
        return rollout_values(KEY, env, bang_bang, begin, places, GAMMA, rollouts, 200, chunk).values

    np.testing.assert_array_equal(values(1, 50), values(5, 2))
    with pytest.raises(ValueError, match="each must be >= 1"):
        values(0, 2)
