"""The Control Suite through Shimmy, as any Gymnasium environment; and beside it our own cart-pole."""

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
import shimmy

from bayesbellman.compat.gymnasium import AsGymnasium, HostEnv, make_host_env
from bayesbellman.envs.cartpole import CartPole

gymnasium.register_envs(shimmy)
CART_POLE = "dm_control/cartpole-swingup_sparse-v0"


def suite(name: str) -> gymnasium.Env:
    return gymnasium.wrappers.FlattenObservation(gymnasium.make(name, disable_env_checker=True))


def test_its_dictionaries_must_be_flattened() -> None:
    with pytest.raises(TypeError, match=r"observations are Dict.*FlattenObservation"):
        make_host_env(CART_POLE)


@pytest.mark.parametrize("name", ["dm_control/cartpole-swingup-v0", "dm_control/pendulum-swingup-v0"])
def test_it_is_played_and_cut_never_terminated(name: str) -> None:
    host = make_host_env(lambda: suite(name), seed=1)
    first = host.reset()
    assert first.shape == (1, host.spaces.observation.size)
    for number in range(1005):
        step = host.step(np.full((1, 1), np.sin(number / 10)))
        assert bool(step.truncated[0]) == (number == 999)
        assert step.valid.all()
        assert not step.terminated.any()


def test_a_snapshot_leads_back() -> None:
    """Bit for bit, in another environment, in the second episode."""
    actions = np.random.default_rng(0).uniform(-1, 1, (1300, 1, 1))
    one = HostEnv(lambda: suite(CART_POLE), seed=3)
    one.reset()
    for action in actions[:1200]:
        one.step(action)
    kept = one.snapshot()
    assert kept is not None
    other = HostEnv(lambda: suite(CART_POLE))
    other.restore(kept)
    for action in actions[1200:]:
        here, there = one.step(action), other.step(action)
        assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))


def test_our_cart_pole_is_the_suite_s() -> None:
    """Both from the suite's start, by the same actions, for 200 steps: observations as (x, cos, sin, x', angle')."""
    host = HostEnv(suite(CART_POLE), seed=0)
    ours = AsGymnasium(CartPole(reward="dm_control"))
    seen = host.reset()[0]
    ours.reset(seed=0)
    angle = np.arctan2(seen[2], seen[1])
    ours._state = CartPole().at(*(jnp.asarray(x) for x in (seen[0], angle, seen[3], seen[4])))
    for number in range(200):
        action = np.float32([np.sin(number / 20)])
        step = host.step(action[None])
        observation, reward, *_ = ours.step(action)
        np.testing.assert_allclose(observation, step.next_observation[0], atol=5e-5)
        assert reward == step.reward[0]
