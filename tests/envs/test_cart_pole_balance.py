"""CartPole-v1 by hand; `tests/compat/test_gymnasium_steps.py` compares it with Gymnasium's, step by step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.envs.cart_pole_balance import CartPoleBalance

KEY = jax.random.key(0)


def stepped(*start: float, action: int = 1):
    env = CartPoleBalance()
    return env.step(KEY, env.at(*map(jnp.asarray, start)), jnp.asarray(action, jnp.int32))


def test_one_step_by_hand(x64: None) -> None:
    """From rest and upright, where the sine is 0 and the cosine 1."""
    outcome = stepped(0.1, 0.0, 0.0, 0.0, action=1)
    push = 10 / 1.1
    angular = -push / (0.5 * (4 / 3 - 0.1 / 1.1))
    np.testing.assert_allclose(CartPoleBalance().observe(outcome.state)[jnp.array([0, 2])], [0.1, 0.0])
    np.testing.assert_allclose(outcome.state.angular_velocity, 0.02 * angular)
    np.testing.assert_allclose(outcome.state.velocity, 0.02 * (push - 0.05 * angular / 1.1))
    left = stepped(0.1, 0.0, 0.0, 0.0, action=0)
    np.testing.assert_allclose(left.state.velocity, -outcome.state.velocity)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_it_ends_beyond_12_degrees_or_the_rail_and_the_last_step_earns(x64: None, side: float) -> None:
    inside, steep = stepped(0.0, 0.0, side * 0.2094, 0.0), stepped(0.0, 0.0, side * 0.2095, 0.0)
    on, off = stepped(side * 2.4, 0.0, 0.0, 0.0), stepped(side * 2.4001, 0.0, 0.0, 0.0)
    assert [bool(o.terminated) for o in (inside, steep, on, off)] == [False, True, False, True]
    assert [float(o.reward) for o in (inside, steep, on, off)] == [1.0] * 4


def test_starts_are_within_their_range() -> None:
    starts = jax.vmap(lambda key: CartPoleBalance().observe(CartPoleBalance().reset(key)))(jax.random.split(KEY, 500))
    assert (np.abs(starts) <= 0.05).all()
    assert (starts.min(axis=0) < -0.045).all()
    assert (starts.max(axis=0) > 0.045).all()
