"""The classic cart-pole of Barto, Sutton and Anderson (1983): masses 1 and 0.1, a pole of length 1, Euler steps.

Two environments move by it: Gymnasium's CartPole-v1 and bsuite's swing-up. (`cartpole` has MuJoCo's physics.)
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

GRAVITY = 9.8
POLE, TOTAL = 0.1, 1.1
"""Masses: of the pole, and with the cart"""
TO_CENTRE = 0.5
"""From the hinge to the pole's centre of mass"""


class PoleState(eqx.Module):
    """Position and velocity of the cart, angle of the pole from upright and its velocity, and the steps taken."""

    position: Float[Array, ""]
    velocity: Float[Array, ""]
    angle: Float[Array, ""]
    angular_velocity: Float[Array, ""]
    time: Int[Array, ""]


def begin(
    position: Float[Array, ""], velocity: Float[Array, ""], angle: Float[Array, ""], angular_velocity: Float[Array, ""]
) -> PoleState:
    """An episode that begins there."""
    return PoleState(position, velocity, angle, angular_velocity, jnp.zeros((), jnp.int32))


def euler(state: PoleState, force: Float[Array, ""], seconds: float) -> PoleState:
    """One explicit Euler step: positions move by the velocities there were."""
    sin, cos = jnp.sin(state.angle), jnp.cos(state.angle)
    lever = POLE * TO_CENTRE
    push = (force + lever * state.angular_velocity**2 * sin) / TOTAL
    angular = (GRAVITY * sin - cos * push) / (TO_CENTRE * (4 / 3 - POLE * cos**2 / TOTAL))
    acceleration = push - lever * angular * cos / TOTAL
    return PoleState(
        state.position + seconds * state.velocity,
        state.velocity + seconds * acceleration,
        state.angle + seconds * state.angular_velocity,
        state.angular_velocity + seconds * angular,
        state.time + 1,
    )
