"""A sparse swing-up of the pendulum, with the dynamics of Gymnasium's Pendulum-v1.

A rod of mass 1 and length 1 hangs from a hinge whose motor is too weak to lift it: it must be swung. With angle 0
upright, one semi-implicit Euler step of 0.05 seconds is

    angle' <- clip(angle' + (15 sin(angle) + 3 torque) 0.05, -8, 8),   angle <- angle + 0.05 angle'
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.envs.angles import wrapped
from bayesbellman.envs.base import AbstractControlEnv, EnvStep, out_of_time
from bayesbellman.envs.spaces import Spaces, box

STEP = 0.05
GRAVITY, MASS, LENGTH = 10.0, 1.0, 1.0
TORQUE = 2.0
FASTEST = 8.0
UPRIGHT, SLOW = 0.95, 1.0
"""What the cosine must be above, and the speed below, for the reward of 1"""


class PendulumState(eqx.Module):
    """Angle of the rod from upright, between -pi and pi, its velocity, and the steps this episode has taken."""

    angle: Float[Array, ""]
    angular_velocity: Float[Array, ""]
    time: Int[Array, ""]


class PendulumSparse(AbstractControlEnv[PendulumState]):
    """An action in [-2, 2] is the torque; the rod hangs at first and is to stand.

    An observation is (cos, sin, angle'). Nothing terminates. A step earns 1 where ``cos > 0.95`` and ``|angle'| < 1``
    in the state reached, less ``effort_cost`` times the share of the full torque that the action asks for, before it is
    clipped. So staying still earns 0, and any torque that does not lead to the top earns less: as in the paper's
    cart-pole, which has these thresholds and this cost, who has not been to the top learns to stay still.

    Episodes start with ``init_noise`` times a standard normal number added to angle and velocity.
    """

    effort_cost: float | Float[Array, ""] = 0.1
    init_noise: float | Float[Array, ""] = 0.01
    time_limit: int = eqx.field(static=True, default=200)

    @property
    def spaces(self) -> Spaces:
        high = [1.0, 1.0, FASTEST]
        return Spaces(box([-bound for bound in high], high), box([-TORQUE], [TORQUE]))

    def reset(self, key: Key[Array, ""]) -> PendulumState:
        noise = jnp.asarray(self.init_noise, float) * jax.random.normal(key, (2,), dtype=float)
        return self.at(math.pi + noise[0], noise[1])

    def at(self, angle: Float[Array, ""], angular_velocity: Float[Array, ""]) -> PendulumState:
        """An episode that begins there."""
        return PendulumState(wrapped(angle), angular_velocity, jnp.zeros((), jnp.int32))

    def observe(self, state: PendulumState) -> Float[Array, "3"]:
        return jnp.stack([jnp.cos(state.angle), jnp.sin(state.angle), state.angular_velocity])

    def step(self, key: Key[Array, ""], state: PendulumState, action: Float[Array, " 1"]) -> EnvStep[PendulumState]:
        torque = jnp.clip(action[0], -TORQUE, TORQUE)
        pull = 3 * GRAVITY / (2 * LENGTH) * jnp.sin(state.angle)
        faster = state.angular_velocity + STEP * (pull + 3 / (MASS * LENGTH**2) * torque)
        velocity = jnp.clip(faster, -FASTEST, FASTEST)
        reached = PendulumState(wrapped(state.angle + STEP * velocity), velocity, state.time + 1)
        effort = jnp.asarray(self.effort_cost, velocity.dtype) * jnp.abs(action[0]) / TORQUE
        truncated = out_of_time(reached.time, self.time_limit)
        return EnvStep(reached, self.balanced(reached).astype(velocity.dtype) - effort, jnp.zeros((), bool), truncated)

    def balanced(self, state: PendulumState) -> Bool[Array, ""]:
        """Whether the state earns the reward of 1."""
        return (jnp.cos(state.angle) > UPRIGHT) & (jnp.abs(state.angular_velocity) < SLOW)
