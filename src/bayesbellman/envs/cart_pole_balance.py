"""CartPole-v1, with Gymnasium's dynamics: a pole that stands on a cart, to be kept from falling."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bayesbellman.envs.base import AbstractControlEnv, EnvStep, out_of_time
from bayesbellman.envs.pole_physics import PoleState, begin, euler
from bayesbellman.envs.spaces import Discrete, Spaces, box

STEP = 0.02
FARTHEST, STEEPEST = 2.4, math.radians(12)
"""Position and angle beyond which the pole counts as fallen"""


class CartPoleBalance(AbstractControlEnv[PoleState]):
    """Actions 0 and 1 push the cart left and right with ``force``; each step earns 1, the one that ends it too.

    An observation is (x, x', angle, angle'). Episodes start with each of them uniform between ``-start`` and ``start``.
    """

    force: float | Float[Array, ""] = 10.0
    start: float | Float[Array, ""] = 0.05
    time_limit: int = eqx.field(static=True, default=500)

    @property
    def spaces(self) -> Spaces:
        """Gymnasium's bounds, twice where an episode ends: they hold until then."""
        high = [2 * FARTHEST, math.inf, 2 * STEEPEST, math.inf]
        return Spaces(box([-bound for bound in high], high), Discrete(2))

    def reset(self, key: Key[Array, ""]) -> PoleState:
        return self.at(*jnp.asarray(self.start, float) * jax.random.uniform(key, (4,), dtype=float, minval=-1.0))

    def at(
        self,
        position: Float[Array, ""],
        velocity: Float[Array, ""],
        angle: Float[Array, ""],
        angular_velocity: Float[Array, ""],
    ) -> PoleState:
        """An episode that begins there."""
        return begin(position, velocity, angle, angular_velocity)

    def observe(self, state: PoleState) -> Float[Array, "4"]:
        return jnp.stack([state.position, state.velocity, state.angle, state.angular_velocity])

    def step(self, key: Key[Array, ""], state: PoleState, action: Int[Array, ""]) -> EnvStep[PoleState]:
        force = jnp.asarray(self.force, state.angle.dtype)
        reached = euler(state, jnp.where(action == 1, force, -force), STEP)
        terminated = (jnp.abs(reached.position) > FARTHEST) | (jnp.abs(reached.angle) > STEEPEST)
        truncated = out_of_time(reached.time, self.time_limit)
        return EnvStep(reached, jnp.ones_like(reached.angle), terminated, truncated)
