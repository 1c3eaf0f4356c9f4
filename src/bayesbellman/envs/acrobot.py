"""A sparse swing-up of the acrobot, with the dynamics of Gymnasium's Acrobot-v1 (its "book" form) and any torque.

Two links of mass 1 and length 1, the first hanging from a hinge, with a motor between them (Sutton and Barto). With
``q = (first, second)``, the first angle from hanging, the second from the first link:

    D(q) q'' = (0, torque) - bias(q, q')

One step is one of RK4, of 0.2 seconds; then angles are wrapped and velocities clipped.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.envs.angles import wrapped
from bayesbellman.envs.base import AbstractControlEnv, EnvStep, out_of_time
from bayesbellman.envs.runge_kutta import runge_kutta
from bayesbellman.envs.spaces import Spaces, box

STEP = 0.2
GRAVITY = 9.8
MASS, LENGTH, TO_CENTRE, INERTIA = 1.0, 1.0, 0.5, 1.0
"""Of each link; the inertia is about its centre, and Gymnasium's, larger than a rod's"""
FASTEST = (4 * math.pi, 9 * math.pi)
LINE = 1.0
"""How far above the hinge the tip must be"""


class AcrobotState(eqx.Module):
    """The links' angles, between -pi and pi, their velocities, and the steps this episode has taken."""

    first: Float[Array, ""]
    second: Float[Array, ""]
    first_velocity: Float[Array, ""]
    second_velocity: Float[Array, ""]
    time: Int[Array, ""]


def _rate(motion: Float[Array, "4"], torque: Float[Array, ""]) -> Float[Array, "4"]:
    """Time derivative of (angles, velocities)."""
    first, second, first_velocity, second_velocity = motion
    coupling = MASS * LENGTH * TO_CENTRE
    own = MASS * TO_CENTRE**2 + INERTIA  # of the second link about its hinge, on the diagonal of D
    both = own + coupling * jnp.cos(second)
    whole = 2 * own + MASS * LENGTH**2 + 2 * coupling * jnp.cos(second)
    weight = MASS * TO_CENTRE * GRAVITY * jnp.sin(first + second)
    swing = coupling * jnp.sin(second)
    first_bias = (
        -swing * second_velocity**2
        - 2 * swing * second_velocity * first_velocity
        + (MASS * TO_CENTRE + MASS * LENGTH) * GRAVITY * jnp.sin(first)
        + weight
    )
    second_bias = swing * first_velocity**2 + weight
    second_faster = (torque - second_bias + both / whole * first_bias) / (own - both**2 / whole)
    first_faster = -(both * second_faster + first_bias) / whole
    return jnp.stack([first_velocity, second_velocity, first_faster, second_faster])


class AcrobotSparse(AbstractControlEnv[AcrobotState]):
    """An action in [-1, 1] is the torque between the links, which hang at first; the tip is to be above a line.

    An observation is (cos, sin) of the first angle and of the second, and their velocities. A step earns 1 where the
    tip is above Gymnasium's line in the state reached, ``-cos(first) - cos(first + second) > 1``, less ``effort_cost``
    times ``|a|``, before it is clipped.

    Unlike in Acrobot-v1, nothing terminates: the tip is to stay up, or to come back. With an end and a large reward,
    one chance visit would be worth more than all torques of its episode. Here it earns a few steps of 1, and the
    torques cost more than that: staying still, which earns 0, is better than all that is a little better than chance.

    Episodes start with angles and velocities uniform between ``-start`` and ``start``, as in Gymnasium.
    """

    effort_cost: float | Float[Array, ""] = 0.1
    start: float | Float[Array, ""] = 0.1
    time_limit: int = eqx.field(static=True, default=500)

    @property
    def spaces(self) -> Spaces:
        high = [1.0, 1.0, 1.0, 1.0, *FASTEST]
        return Spaces(box([-bound for bound in high], high), box([-1.0], [1.0]))

    def reset(self, key: Key[Array, ""]) -> AcrobotState:
        return self.at(*jnp.asarray(self.start, float) * jax.random.uniform(key, (4,), dtype=float, minval=-1.0))

    def at(
        self,
        first: Float[Array, ""],
        second: Float[Array, ""],
        first_velocity: Float[Array, ""],
        second_velocity: Float[Array, ""],
    ) -> AcrobotState:
        """An episode that begins there."""
        return AcrobotState(first, second, first_velocity, second_velocity, jnp.zeros((), jnp.int32))

    def observe(self, state: AcrobotState) -> Float[Array, "6"]:
        angles = [part(angle) for angle in (state.first, state.second) for part in (jnp.cos, jnp.sin)]
        return jnp.stack([*angles, state.first_velocity, state.second_velocity])

    def step(self, key: Key[Array, ""], state: AcrobotState, action: Float[Array, " 1"]) -> EnvStep[AcrobotState]:
        motion = jnp.stack([state.first, state.second, state.first_velocity, state.second_velocity])
        motion = runge_kutta(_rate, motion, jnp.clip(action[0], -1.0, 1.0), STEP)
        fastest = jnp.asarray(FASTEST, motion.dtype)
        (first, second), speeds = wrapped(motion[:2]), jnp.clip(motion[2:], -fastest, fastest)
        reached = AcrobotState(first, second, speeds[0], speeds[1], state.time + 1)
        effort = jnp.asarray(self.effort_cost, motion.dtype) * jnp.abs(action[0])
        truncated = out_of_time(reached.time, self.time_limit)
        return EnvStep(reached, self.is_up(reached).astype(motion.dtype) - effort, jnp.zeros((), bool), truncated)

    def is_up(self, state: AcrobotState) -> Bool[Array, ""]:
        """Whether the state earns the reward of 1."""
        return -jnp.cos(state.first) - jnp.cos(state.first + state.second) > LINE
