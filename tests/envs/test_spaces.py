"""The spaces of our environments; that observations lie within them is part of the contract."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.envs.base import AbstractControlEnv
from bayesbellman.envs.cartpole import CartPole
from bayesbellman.envs.deep_sea import DeepSea
from bayesbellman.envs.mountain_car import MountainCar
from bayesbellman.envs.probes import PROBES
from bayesbellman.envs.puddle_world import PuddleWorld
from bayesbellman.envs.registry import ENVIRONMENTS, make_env
from bayesbellman.envs.spaces import Box, Discrete, box

EVERY = {**{name: make_env(name) for name in ENVIRONMENTS}, "deep-sea": DeepSea(3), "puddle-world": PuddleWorld()}
every_environment = pytest.mark.parametrize("env", EVERY.values(), ids=EVERY)


@every_environment
def test_bounds_are_float32_in_either_precision_and_inside_compiled_code(env: AbstractControlEnv) -> None:
    for enabled in (False, True):
        with jax.enable_x64(enabled):
            low = jax.jit(lambda env=env: env.spaces.observation.low)()
            assert low.dtype == env.spaces.observation.low.dtype == jnp.float32
            assert np.array_equal(low, env.spaces.observation.low)


def test_the_bounds_of_each_by_hand() -> None:
    car, pole, puddles = MountainCar().spaces, CartPole().spaces, PuddleWorld().spaces
    np.testing.assert_array_equal(car.observation.low, np.float32([-1.2, -0.07]))
    np.testing.assert_array_equal(car.observation.high, np.float32([0.6, 0.07]))
    np.testing.assert_array_equal(pole.observation.high, [np.inf, 1, 1, np.inf, np.inf])
    np.testing.assert_array_equal(pole.observation.low, -pole.observation.high)
    for action in (car.action, pole.action, *(probe.spaces.action for probe in PROBES.values())):
        assert isinstance(action, Box)
        assert (action.low.tolist(), action.high.tolist()) == ([-1.0], [1.0])
    assert puddles.action == Discrete(4)
    found = {name: make_env(name).spaces.action for name in ("CartPole-v1", "MountainCar-v0", "deep-sea-3")}
    assert found == {"CartPole-v1": Discrete(2), "MountainCar-v0": Discrete(3), "deep-sea-3": Discrete(2)}
    assert make_env("bsuite-cartpole-swingup").spaces.action == Discrete(3)
    np.testing.assert_array_equal(make_env("deep-sea-3").spaces.observation.high, np.ones(9))


def test_impossible_spaces_are_refused() -> None:
    with pytest.raises(ValueError, match="low must be at most high"):
        box([1.0], [0.0])
    with pytest.raises(ValueError, match="low must be at most high"):
        box([float("nan")], [0.0])
    with pytest.raises(ValueError, match="number must be at least 1, got 0"):
        Discrete(0)
