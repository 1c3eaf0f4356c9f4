"""The sparse pendulum and acrobot by hand: what earns, what it costs, and that the tasks can be done.

`tests/compat/test_gymnasium_steps.py` compares their steps with Gymnasium's.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.envs.acrobot import AcrobotSparse, AcrobotState
from bayesbellman.envs.angles import wrapped
from bayesbellman.envs.pendulum import PendulumSparse, PendulumState

KEY = jax.random.key(0)


def pendulum_step(angle: float, velocity: float, action: float) -> Any:
    env = PendulumSparse()
    return env.step(KEY, env.at(jnp.asarray(angle), jnp.asarray(velocity)), jnp.asarray([action]))


def rewards(env: Any, choose: Callable[[Any, jax.Array], jax.Array], episodes: int) -> np.ndarray:
    """Of each step of whole episodes."""

    def on(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        outcome = env.step(key, state, choose(state, key))
        return outcome.state, outcome.reward

    def episode(key: jax.Array) -> jax.Array:
        return jax.lax.scan(on, env.reset(key), jax.random.split(key, env.time_limit))[1]

    return np.asarray(jax.jit(jax.vmap(episode))(jax.random.split(KEY, episodes)))


def test_angles_are_wrapped(x64: None) -> None:
    angles = np.linspace(-20, 20, 101)
    np.testing.assert_allclose(np.exp(1j * np.asarray(wrapped(jnp.asarray(angles)))), np.exp(1j * angles), atol=1e-13)
    assert float(jnp.abs(wrapped(jnp.asarray(angles))).max()) <= math.pi


def test_one_step_of_the_pendulum_by_hand(x64: None) -> None:
    outcome = pendulum_step(0.5, -1.0, 1.2)
    velocity = -1 + 0.05 * (15 * math.sin(0.5) + 3 * 1.2)
    np.testing.assert_allclose([outcome.state.angular_velocity, outcome.state.angle], [velocity, 0.5 + 0.05 * velocity])
    np.testing.assert_allclose(outcome.reward, -0.06)


def test_torque_is_clipped_and_its_cost_is_not(x64: None) -> None:
    strong, full = pendulum_step(2.0, 0.0, 6.0), pendulum_step(2.0, 0.0, 2.0)
    assert float(strong.state.angle) == float(full.state.angle)
    np.testing.assert_allclose([strong.reward, full.reward], [-0.3, -0.1])
    env = AcrobotSparse()
    hanging = env.at(*jnp.zeros(4))
    strong, full = (env.step(KEY, hanging, jnp.asarray([action])) for action in (3.0, 1.0))
    assert float(strong.state.second) == float(full.state.second)
    np.testing.assert_allclose([strong.reward, full.reward], [-0.3, -0.1])


@pytest.mark.parametrize(
    ("angle", "velocity", "earns"),
    [(0.0, 0.0, True), (0.31, 0.0, True), (0.33, 0.0, False), (0.0, 0.99, True), (0.0, -1.01, False)],
)
def test_the_pendulum_earns_where_it_nearly_stands(angle: float, velocity: float, earns: bool) -> None:
    state = PendulumState(jnp.asarray(angle), jnp.asarray(velocity), jnp.zeros((), jnp.int32))
    assert bool(PendulumSparse().balanced(state)) == earns


def test_the_pendulum_s_reward_is_of_the_state_reached(x64: None) -> None:
    """0.33 is too far from upright and 0.30 is not; it falls there at a speed that earns, or out from 0.30."""
    arriving, leaving = pendulum_step(0.33, -1.1, 0.0), pendulum_step(0.30, 0.7, 0.0)
    assert (abs(float(arriving.state.angular_velocity)) < 1, float(arriving.state.angle) < 0.3176) == (True, True)
    assert (abs(float(leaving.state.angular_velocity)) < 1, float(leaving.state.angle) > 0.3176) == (True, True)
    assert (float(arriving.reward), float(leaving.reward)) == (1.0, 0.0)


def test_the_pendulum_starts_hanging_with_the_noise_asked_for(x64: None) -> None:
    """Over 4,000 starts a deviation of 0.02 has a standard error of 2.3e-4 and a mean one of 3.2e-4; within 5."""
    env = PendulumSparse(init_noise=0.02)
    starts = jax.jit(jax.vmap(env.reset))(jax.random.split(KEY, 4_000))
    from_hanging = np.stack([wrapped(starts.angle - math.pi), starts.angular_velocity])
    np.testing.assert_allclose(from_hanging.mean(axis=1), 0.0, atol=5 * 3.2e-4)
    np.testing.assert_allclose(from_hanging.std(axis=1), 0.02, atol=5 * 2.3e-4)


@pytest.mark.parametrize(
    ("first", "second", "earns"),
    [
        (math.pi, 0.0, True),
        (math.pi, 1.5, True),
        (math.pi, 1.6, False),
        (math.pi / 2, math.pi / 2, False),
        (0.0, 0.0, False),
    ],
)
def test_the_acrobot_earns_above_its_line(first: float, second: float, earns: bool) -> None:
    state = AcrobotSparse().at(jnp.asarray(first), jnp.asarray(second), jnp.asarray(9.0), jnp.asarray(-9.0))
    assert bool(AcrobotSparse().is_up(state)) == earns


@pytest.mark.parametrize("env", [PendulumSparse(), AcrobotSparse()], ids=["pendulum", "acrobot"])
def test_chance_finds_nothing_and_staying_still_costs_nothing(env: Any) -> None:
    """200 episodes of uniform actions: none is rewarded, and each costs half of the full effort. (Of 5,000 and 2,000
    episodes none was either.) Doing nothing earns 0 throughout."""
    high = env.spaces.action.high
    chance = rewards(env, lambda state, key: high * jax.random.uniform(key, (1,), minval=-1.0), 200)
    assert (chance <= 0).all()
    deviation = 0.1 / math.sqrt(12 * chance.size)  # of the mean of uniform efforts
    assert abs(chance.mean() + 0.05) < 5 * deviation
    assert (rewards(env, lambda state, key: jnp.zeros(1), 3) == 0).all()


def swing_up(state: PendulumState, key: jax.Array) -> jax.Array:
    """Energy is pumped until it would do for the top; near it, a spring and a damper hold the rod."""
    lacking = 15 - (state.angular_velocity**2 / 2 + 15 * jnp.cos(state.angle))
    pump = jnp.where(state.angular_velocity >= 0, 1.0, -1.0) * 2 * lacking
    hold = -(10 * state.angle + 3 * state.angular_velocity)
    return jnp.clip(jnp.where(jnp.cos(state.angle) > 0.9, hold, pump), -2.0, 2.0)[None]


def test_the_pendulum_can_be_swung_up() -> None:
    """A controller that knows the physics earns 131 from every start; success (100) is above half of it."""
    returns = rewards(PendulumSparse(), swing_up, 50).sum(axis=1)
    assert 125 < returns.min() <= returns.max() < 135


def ahead(env: AcrobotSparse, state: AcrobotState, actions: jax.Array) -> jax.Array:
    """What some actions earn from a state, with a little for the height of the tip on the way."""

    def on(state: AcrobotState, action: jax.Array) -> tuple[AcrobotState, jax.Array]:
        outcome = env.step(KEY, state, action[None])
        height = -jnp.cos(outcome.state.first) - jnp.cos(outcome.state.first + outcome.state.second)
        return outcome.state, outcome.reward + 0.05 * height

    return jnp.sum(jax.lax.scan(on, state, actions)[1])


def planned(env: AcrobotSparse, key: jax.Array, horizon: int = 30, tries: int = 128) -> np.ndarray:
    """An episode's rewards: energy is pumped for 70 steps, then each action begins the best plan found by sampling."""

    def on(carry: tuple[AcrobotState, jax.Array], key: jax.Array) -> tuple[Any, jax.Array]:
        state, plan = carry

        def better(turn: jax.Array, plan: jax.Array) -> jax.Array:
            noise = jax.random.normal(jax.random.fold_in(key, turn), (tries, horizon))
            plans = jnp.clip(plan + 0.8 * noise, -1.0, 1.0)
            weights = jax.nn.softmax(2 * jax.vmap(partial(ahead, env, state))(plans))
            return weights @ plans

        plan = jax.lax.fori_loop(0, 3, better, plan)
        pump = jnp.where(state.second_velocity >= 0, 1.0, -1.0)
        outcome = env.step(key, state, jnp.where(state.time < 70, pump, plan[0])[None])
        return (outcome.state, jnp.roll(plan, -1).at[-1].set(0.0)), outcome.reward

    start = (env.reset(key), jnp.zeros(horizon))
    return np.asarray(jax.jit(partial(jax.lax.scan, on))(start, jax.random.split(key, env.time_limit))[1])


def test_the_acrobot_can_be_kept_up() -> None:
    """A planner that knows the physics earns about 260 (249 to 278 with six keys); success (150) is above half."""
    assert planned(AcrobotSparse(), KEY).sum() > 200
