"""MountainCarContinuous-v0 and MountainCar-v0, with Gymnasium's dynamics: a weak car must first swing back."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.envs.base import AbstractControlEnv, EnvStep, out_of_time
from bayesbellman.envs.spaces import Box, Discrete, Spaces, box


class MountainCarState(eqx.Module):
    """Where the car is, how fast, and how many steps this episode has taken."""

    position: Float[Array, ""]
    velocity: Float[Array, ""]
    time: Int[Array, ""]


class AbstractMountainCar(AbstractControlEnv[MountainCarState]):
    """An observation is (position, velocity), within `low` and `high`.

    Episodes start at rest, at a position uniform between the two of ``start``.
    """

    start: eqx.AbstractVar[tuple[float, float]]
    time_limit: eqx.AbstractVar[int]

    @property
    def low(self) -> Float[Array, "2"]:
        return jnp.array([-1.2, -0.07])

    @property
    def high(self) -> Float[Array, "2"]:
        return jnp.array([0.6, 0.07])

    @property
    def seen(self) -> Box:
        """The space of observations."""
        return Box(self.low.astype(jnp.float32), self.high.astype(jnp.float32))

    def reset(self, key: Key[Array, ""]) -> MountainCarState:
        return self.at(jax.random.uniform(key, dtype=float, minval=self.start[0], maxval=self.start[1]), jnp.zeros(()))

    def at(self, position: Float[Array, ""], velocity: Float[Array, ""]) -> MountainCarState:
        """An episode that begins there."""
        return MountainCarState(position, velocity, jnp.zeros((), jnp.int32))

    def observe(self, state: MountainCarState) -> Float[Array, "2"]:
        return jnp.stack([state.position, state.velocity])

    def drive(self, state: MountainCarState, push: Float[Array, ""]) -> tuple[MountainCarState, Bool[Array, ""]]:
        """The state after a step in which the engine adds ``push`` to the velocity, and whether it is cut there."""
        (lowest, slowest), (highest, fastest) = self.low, self.high
        velocity = state.velocity + push - 0.0025 * jnp.cos(3 * state.position)
        velocity = jnp.clip(velocity, slowest, fastest)
        position = jnp.clip(state.position + velocity, lowest, highest)
        velocity = jnp.where((position == lowest) & (velocity < 0), 0.0, velocity)  # the left wall stops it
        time = state.time + 1
        truncated = out_of_time(time, self.time_limit)
        return MountainCarState(position, velocity, time), truncated


class MountainCar(AbstractMountainCar):
    """Force in [-1, 1]; reward 100 at the goal, less ``0.1 a^2`` of the action as given, before it is clipped."""

    power: float | Float[Array, ""] = 0.0015
    start: tuple[float, float] = (-0.6, -0.4)
    time_limit: int = eqx.field(static=True, default=999)

    @property
    def spaces(self) -> Spaces:
        return Spaces(self.seen, box([-1.0], [1.0]))

    def step(
        self, key: Key[Array, ""], state: MountainCarState, action: Float[Array, " 1"]
    ) -> EnvStep[MountainCarState]:
        reached, truncated = self.drive(state, jnp.asarray(self.power) * jnp.clip(action[0], -1.0, 1.0))
        terminated = (reached.position >= 0.45) & (reached.velocity >= 0)
        reward = jnp.where(terminated, 100.0, 0.0) - 0.1 * action[0] ** 2
        return EnvStep(reached, reward, terminated, truncated)


class MountainCarDiscrete(AbstractMountainCar):
    """Actions 0, 1 and 2: back, nothing, ahead. Each step costs 1, the one that reaches the goal too."""

    power: float | Float[Array, ""] = 0.001
    start: tuple[float, float] = (-0.6, -0.4)
    time_limit: int = eqx.field(static=True, default=200)

    @property
    def spaces(self) -> Spaces:
        return Spaces(self.seen, Discrete(3))

    def step(self, key: Key[Array, ""], state: MountainCarState, action: Int[Array, ""]) -> EnvStep[MountainCarState]:
        dtype = state.velocity.dtype
        reached, truncated = self.drive(state, jnp.asarray(self.power, dtype) * (action - 1).astype(dtype))
        terminated = (reached.position >= 0.5) & (reached.velocity >= 0)
        return EnvStep(reached, -jnp.ones((), dtype), terminated, truncated)
