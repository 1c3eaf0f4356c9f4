"""The cart-pole as its studies need to know it: with the paper's reward, and with the Control Suite's."""

import math
from functools import partial

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from bayesbellman.control.parts import Number
from bayesbellman.envs.base import AbstractControlEnv, EnvStep
from bayesbellman.envs.cartpole import CartPole, CartPoleState, Reward
from bayesbellman.envs.spaces import Spaces
from bayesbellman.experiments.sparse.task import Axis, Plane, Task

SUCCESS = 500.0


class LimitEnds(AbstractControlEnv[CartPoleState]):
    """A cart-pole whose time limit is an end, beyond which there is no value, where ``ends`` is not 0."""

    inner: CartPole
    ends: Number

    @property
    def spaces(self) -> Spaces:
        return self.inner.spaces

    def reset(self, key: Key[Array, ""]) -> CartPoleState:
        return self.inner.reset(key)

    def observe(self, state: CartPoleState) -> Float[Array, "5"]:
        return self.inner.observe(state)

    def step(self, key: Key[Array, ""], state: CartPoleState, action: Float[Array, " 1"]) -> EnvStep[CartPoleState]:
        outcome = self.inner.step(key, state, action)
        return EnvStep(outcome.state, outcome.reward, outcome.truncated & (self.ends != 0), outcome.truncated)


def make(
    reward: Reward, *, time_limit: int, init_noise: Number = 0.01, limit_ends: Number | None = None
) -> AbstractControlEnv:
    env = CartPole(init_noise=init_noise, reward=reward, time_limit=time_limit)
    return env if limit_ends is None else LimitEnds(env, limit_ends)


def seen(observation: Float[Array, "N 5"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    return jnp.arctan2(observation[:, 2], observation[:, 1]), observation[:, 4]  # the angle 0 is upright


def shown(angle: Float[np.ndarray, " M"], speed: Float[np.ndarray, " M"]) -> Float[np.ndarray, "M 5"]:
    """With the cart at rest in the middle of the rail."""
    still = np.zeros_like(angle)
    return np.stack([still, np.cos(angle), np.sin(angle), still, speed], axis=1)


PLANE = Plane(Axis("angle", math.pi, 36), Axis("angular velocity", 12.0, 24), seen, shown)
"""The pole stands upright at angle 0 and hangs at either edge."""
PAPER = Task("paper", partial(make, "paper"), SUCCESS, PLANE, ("init_noise", "limit_ends"))
STOCK = Task("stock", partial(make, "dm_control"), SUCCESS, PLANE, ("init_noise", "limit_ends"))
"""The Control Suite's ``swingup_sparse``: 1 where the pole stands in the middle of the rail, and no cost."""


def paper_task(job: str) -> Task:
    """The task of every job of the studies with the paper's reward."""
    return PAPER
