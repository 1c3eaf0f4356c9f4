"""MountainCarContinuous-v0, with Gymnasium's dynamics: a car too weak to climb must first swing back."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bayesbellman.envs.base import AbstractControlEnv, EnvStep
from bayesbellman.envs.spaces import Box, Spaces, box


class MountainCarState(eqx.Module):
    """Where the car is, how fast, and how many steps this episode has taken."""

    position: Float[Array, ""]
    velocity: Float[Array, ""]
    time: Int[Array, ""]


class MountainCar(AbstractControlEnv[MountainCarState]):
    """Force in [-1, 1]; reward 100 at the goal, less ``0.1 a^2`` of the action as given, before it is clipped.

    An observation is (position, velocity), within `low` and `high`. Episodes start at rest, at a position uniform
    between the two of ``start``.
    """

    power: float | Float[Array, ""] = 0.0015
    start: tuple[float, float] = (-0.6, -0.4)
    time_limit: int = eqx.field(static=True, default=999)

    @property
    def low(self) -> Float[Array, "2"]:
        return jnp.array([-1.2, -0.07])

    @property
    def high(self) -> Float[Array, "2"]:
        return jnp.array([0.6, 0.07])

    @property
    def spaces(self) -> Spaces:
        observation = Box(self.low.astype(jnp.float32), self.high.astype(jnp.float32))
        return Spaces(observation, box([-1.0], [1.0]))

    def reset(self, key: Key[Array, ""]) -> MountainCarState:
        return self.at(jax.random.uniform(key, dtype=float, minval=self.start[0], maxval=self.start[1]), jnp.zeros(()))

    def at(self, position: Float[Array, ""], velocity: Float[Array, ""]) -> MountainCarState:
        """An episode that begins there."""
        return MountainCarState(position, velocity, jnp.zeros((), jnp.int32))

    def observe(self, state: MountainCarState) -> Float[Array, "2"]:
        return jnp.stack([state.position, state.velocity])

    def step(
        self, key: Key[Array, ""], state: MountainCarState, action: Float[Array, " 1"]
    ) -> EnvStep[MountainCarState]:
        (lowest, slowest), (highest, fastest) = self.low, self.high
        force = jnp.clip(action[0], -1.0, 1.0)
        velocity = state.velocity + jnp.asarray(self.power) * force - 0.0025 * jnp.cos(3 * state.position)
        velocity = jnp.clip(velocity, slowest, fastest)
        position = jnp.clip(state.position + velocity, lowest, highest)
        velocity = jnp.where((position == lowest) & (velocity < 0), 0.0, velocity)  # the left wall stops it
        terminated = (position >= 0.45) & (velocity >= 0)
        reward = jnp.where(terminated, 100.0, 0.0) - 0.1 * action[0] ** 2
        time = state.time + 1
        truncated = jnp.asarray(self.time_limit > 0) & (time >= self.time_limit)
        return EnvStep(MountainCarState(position, velocity, time), reward, terminated, truncated)
