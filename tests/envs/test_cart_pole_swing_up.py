"""bsuite's swing-up beside recorded steps of bsuite's own; `tests/peers_bsuite` runs bsuite itself."""

import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.envs.cart_pole_swing_up import CartPoleSwingUp, bsuite_swing_up

KEY = jax.random.key(0)
RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "bsuite_steps.json").read_text())["swing_up"]


@pytest.mark.parametrize("setting", sorted({path["setting"] for path in RECORDED}))
def test_steps_are_bsuite_s(x64: None, setting: int) -> None:
    """bsuite's observations are float32, its states float64."""
    env = bsuite_swing_up(setting)
    step, observe = jax.jit(lambda s, a: env.step(KEY, s, a)), jax.jit(lambda s: env.observe(s))
    paid = ended = 0
    for path in (path for path in RECORDED if path["setting"] == setting):
        state = env.at(*map(jnp.asarray, path["start"]))
        for action, before, reward, end in zip(
            path["actions"], path["observations"][:-1], path["rewards"], path["ends"], strict=True
        ):
            np.testing.assert_allclose(observe(state), before, rtol=1e-6, atol=1e-7)
            outcome = step(state, jnp.asarray(action, jnp.int32))
            np.testing.assert_allclose(outcome.reward, reward, atol=1e-15)
            assert (bool(outcome.terminated), bool(outcome.truncated)) == (end, False)
            state, paid, ended = outcome.state, paid + (reward > 0), ended + end
        np.testing.assert_allclose(observe(state), path["observations"][-1], rtol=1e-6, atol=1e-7)
    assert paid
    assert ended


def test_an_episode_ends_with_step_1001_as_bsuite_s_clock_does() -> None:
    env = CartPoleSwingUp()

    def step(state, _: None):
        outcome = env.step(KEY, state, jnp.ones((), jnp.int32))
        return outcome.state, (outcome.terminated, outcome.reward, env.observe(outcome.state))

    begun = env.at(*map(jnp.asarray, (0.0, 0.0, math.pi, 0.0)))
    _, (terminated, rewards, seen) = jax.jit(lambda: jax.lax.scan(step, begun, length=1_001))()
    assert np.flatnonzero(terminated).tolist() == [1_000]
    assert not rewards.any()  # it hangs still: no cost, no reward
    np.testing.assert_allclose(seen[:, 5], np.arange(1, 1_002) / 1_000, rtol=1e-6)
    assert bool((seen <= env.spaces.observation.high).all())


def test_starts_hang_within_their_range() -> None:
    env = CartPoleSwingUp()
    state = jax.vmap(env.reset)(jax.random.split(KEY, 500))
    for values in (state.position, state.velocity, state.angle - math.pi, state.angular_velocity):
        assert np.abs(values).max() <= 0.05 + 1e-6
        assert values.min() < -0.045
        assert values.max() > 0.045


def test_settings_are_bsuite_s_twenty() -> None:
    assert bsuite_swing_up() == CartPoleSwingUp(height_threshold=0.0, x_reward_threshold=1.0)
    assert bsuite_swing_up(19) == CartPoleSwingUp(height_threshold=0.95, x_reward_threshold=1 - 0.95)
    with pytest.raises(ValueError, match="setting must be from 0 to 19, got 20"):
        bsuite_swing_up(20)
