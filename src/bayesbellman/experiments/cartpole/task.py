"""The cart-pole as its studies need to know it: with the paper's reward, and with the Control Suite's."""

import math
from functools import partial

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from bayesbellman.control.parts import Number
from bayesbellman.envs.base import AbstractControlEnv, EnvStep
from bayesbellman.envs.cartpole import CartPole, CartPoleState, Reward
from bayesbellman.envs.spaces import Box, Spaces
from bayesbellman.experiments.sparse.task import Axis, Plane, Task
from bayesbellman.nn.scaling import WIDEST

SUCCESS = 500.0


class Altered(AbstractControlEnv[CartPoleState]):
    """A cart-pole that agents are told something else of, in numbers that may differ from run to run."""

    inner: CartPole
    limit_ends: Number = 0.0
    """Where it is not 0, the time limit is an end, beyond which there is no value."""
    fast: Number = WIDEST
    """A bound that velocities are said to have; agents scale them by it. `WIDEST`: none"""

    @property
    def spaces(self) -> Spaces:
        known = self.inner.spaces
        fast = jnp.asarray(self.fast, known.observation.high.dtype)
        high = known.observation.high.at[-2:].set(fast)
        return Spaces(Box(-high, high), known.action)

    def reset(self, key: Key[Array, ""]) -> CartPoleState:
        return self.inner.reset(key)

    def observe(self, state: CartPoleState) -> Float[Array, "5"]:
        return self.inner.observe(state)

    def step(self, key: Key[Array, ""], state: CartPoleState, action: Float[Array, " 1"]) -> EnvStep[CartPoleState]:
        outcome = self.inner.step(key, state, action)
        terminated = outcome.truncated & (self.limit_ends != 0)
        return EnvStep(outcome.state, outcome.reward, terminated, outcome.truncated)


def make(reward: Reward, *, time_limit: int, init_noise: Number = 0.01, **altered: Number) -> AbstractControlEnv:
    env = CartPole(init_noise=init_noise, reward=reward, time_limit=time_limit)
    return Altered(env, **altered) if altered else env


def seen(observation: Float[Array, "N 5"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    return jnp.arctan2(observation[:, 2], observation[:, 1]), observation[:, 4]  # the angle 0 is upright


def shown(angle: Float[np.ndarray, " M"], speed: Float[np.ndarray, " M"]) -> Float[np.ndarray, "M 5"]:
    """With the cart at rest in the middle of the rail."""
    still = np.zeros_like(angle)
    return np.stack([still, np.cos(angle), np.sin(angle), still, speed], axis=1)


PLANE = Plane(Axis("angle", math.pi, 36), Axis("angular velocity", 12.0, 24), seen, shown)
"""The pole stands upright at angle 0 and hangs at either edge."""
FLOATS = ("init_noise", "limit_ends", "fast")
PAPER = Task("paper", partial(make, "paper"), SUCCESS, PLANE, FLOATS)
STOCK = Task("stock", partial(make, "dm_control"), SUCCESS, PLANE, FLOATS)
"""The Control Suite's ``swingup_sparse``: 1 where the pole stands in the middle of the rail, and no cost."""


def paper_task(job: str) -> Task:
    """The task of every job of the studies with the paper's reward."""
    return PAPER
