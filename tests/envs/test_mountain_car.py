"""MountainCar at its walls, limits and goal, by hand; `tests/peers` compares it with Gymnasium's, step by step."""

import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.envs.mountain_car import MountainCar

KEY = jax.random.key(0)


def stepped(position: float, velocity: float, action: float):
    car = MountainCar()
    return car.step(KEY, car.at(jnp.asarray(position), jnp.asarray(velocity)), jnp.asarray([action]))


def test_one_step_by_hand(x64: None) -> None:
    outcome = stepped(-0.5, 0.01, 0.6)
    velocity = 0.01 + 0.0015 * 0.6 - 0.0025 * np.cos(-1.5)
    np.testing.assert_allclose([outcome.state.velocity, outcome.state.position], [velocity, -0.5 + velocity])
    np.testing.assert_allclose(outcome.reward, -0.1 * 0.36)


def test_force_is_clipped_and_its_cost_is_not(x64: None) -> None:
    strong, full = stepped(-0.5, 0.0, 3.0), stepped(-0.5, 0.0, 1.0)
    assert float(strong.state.velocity) == float(full.state.velocity)
    np.testing.assert_allclose(strong.reward, -0.9)


def test_the_left_wall_stops_it_and_the_right_one_does_not(x64: None) -> None:
    left, right = stepped(-1.19, -0.07, -1.0), stepped(0.59, 0.069, 1.0)
    assert (float(left.state.position), float(left.state.velocity)) == (-1.2, 0.0)
    assert float(right.state.position) == 0.6
    assert float(right.state.velocity) > 0.06


def test_the_goal_needs_a_velocity_that_is_not_negative(x64: None) -> None:
    over, back = stepped(0.44, 0.03, 0.0), stepped(0.5, -0.01, 0.0)
    assert bool(over.terminated)
    np.testing.assert_allclose(over.reward, 100.0)
    assert not bool(back.terminated)


def test_starts_are_between_their_bounds() -> None:
    starts = jax.vmap(lambda key: MountainCar().reset(key).position)(jax.random.split(KEY, 500))
    assert -0.6 <= float(starts.min()) < -0.59
    assert -0.41 < float(starts.max()) <= -0.4
