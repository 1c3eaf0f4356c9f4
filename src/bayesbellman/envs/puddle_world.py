"""Puddle World (Boyan and Moore 1995): cross the unit square to its far corner, around two puddles."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bayesbellman.envs.base import AbstractControlEnv, EnvStep, out_of_time
from bayesbellman.envs.spaces import Discrete, Spaces, box

PUDDLES = np.array([[[0.1, 0.75], [0.45, 0.75]], [[0.45, 0.4], [0.45, 0.8]]])
"""Each is a capsule of radius 0.1 around a segment."""
RADIUS = 0.1
DIRECTIONS = np.array([[0.0, 1.0], [0.0, -1.0], [-1.0, 0.0], [1.0, 0.0]])
UP, DOWN, LEFT, RIGHT = range(4)


class PuddleState(eqx.Module):
    """Where the walker is, and how many steps this episode has taken."""

    place: Float[Array, "2"]
    time: Int[Array, ""]


def depth(place: Float[Array, "2"]) -> Float[Array, ""]:
    """How deep in the puddles a place is; where they overlap, in both."""
    starts, ends = jnp.asarray(PUDDLES[:, 0], place.dtype), jnp.asarray(PUDDLES[:, 1], place.dtype)
    along = ends - starts
    share = jnp.clip(jnp.sum((place - starts) * along, axis=1) / jnp.sum(along**2, axis=1), 0.0, 1.0)
    nearest = starts + share[:, None] * along
    return jnp.sum(jnp.maximum(0.0, RADIUS - jnp.sqrt(jnp.sum((place - nearest) ** 2, axis=1))))


class PuddleWorld(AbstractControlEnv[PuddleState]):
    """Actions 0 to 3: 0.05 up, down, left, right, with Gaussian noise on both axes, kept within the square.

    Reward of the place reached: -1 and 400 times its depth less; 0 in the goal, ``x + y >= 1.9``, which ends the
    episode. It starts anywhere on the square.
    """

    noise: float | Float[Array, ""] = 0.01
    """Deviation of the noise on each axis."""
    step_length: float | Float[Array, ""] = 0.05
    time_limit: int = eqx.field(static=True, default=0)

    @property
    def low(self) -> Float[Array, "2"]:
        return jnp.zeros(2)

    @property
    def high(self) -> Float[Array, "2"]:
        return jnp.ones(2)

    @property
    def spaces(self) -> Spaces:
        return Spaces(box([0.0, 0.0], [1.0, 1.0]), Discrete(len(DIRECTIONS)))

    def reset(self, key: Key[Array, ""]) -> PuddleState:
        return self.at(jax.random.uniform(key, (2,), dtype=float))

    def at(self, place: Float[Array, "2"]) -> PuddleState:
        """An episode that begins there."""
        return PuddleState(place, jnp.zeros((), jnp.int32))

    def observe(self, state: PuddleState) -> Float[Array, "2"]:
        return state.place

    def step(self, key: Key[Array, ""], state: PuddleState, action: Int[Array, ""]) -> EnvStep[PuddleState]:
        dtype = state.place.dtype
        noise = jnp.asarray(self.noise, dtype) * jax.random.normal(key, (2,), dtype)
        move = jnp.asarray(self.step_length, dtype) * jnp.asarray(DIRECTIONS, dtype)[action]
        place = jnp.clip(state.place + move + noise, 0.0, 1.0)
        terminated = jnp.sum(place) >= 1.9
        reward = jnp.where(terminated, 0.0, -1.0 - 400.0 * depth(place))
        time = state.time + 1
        truncated = out_of_time(time, self.time_limit)
        return EnvStep(PuddleState(place, time), reward, terminated, truncated)
