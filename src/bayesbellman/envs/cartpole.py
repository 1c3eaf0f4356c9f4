"""Cart-pole swing-up with a sparse reward, with the DeepMind Control Suite's physics as MuJoCo integrates them.

A cart (mass 1) on a rail carries a hinged pole, a capsule of radius 0.045 around a segment of length 1 (mass 0.1).
With ``q = (x, angle)``, angle 0 upright:

    M(q) q'' = (force - 5e-4 x' + m l sin(angle) angle'^2, m g l sin(angle) - 2e-6 angle') + rail

``M(q) = [[cart + m, m l cos(angle)], [m l cos(angle), inertia + m l^2]]``. One step is one of RK4, of 0.01 seconds.
The ends of the rail are soft: MuJoCo's limit, whose force is part of every stage of RK4.
"""

import math
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.envs.base import AbstractControlEnv, EnvStep, out_of_time
from bayesbellman.envs.runge_kutta import runge_kutta
from bayesbellman.envs.spaces import Spaces, box

Reward = Literal["paper", "dm_control"]

STEP = 0.01
GRAVITY = 9.81
CART, POLE = 1.0, 0.1
"""Masses"""
CART_DAMPING, POLE_DAMPING = 5e-4, 2e-6
LENGTH, RADIUS = 1.0, 0.045
TO_CENTRE = LENGTH / 2
"""From the hinge to the pole's centre of mass"""


def _capsule_inertia() -> float:
    """Of the pole, about an axis through its centre and across it: a cylinder and two half balls of one density."""
    share = RADIUS * 4 / 3 / (LENGTH + RADIUS * 4 / 3)  # of the volume that is in the half balls
    cylinder = (3 * RADIUS**2 + LENGTH**2) / 12
    half_balls = 2 / 5 * RADIUS**2 + 3 / 8 * LENGTH * RADIUS + LENGTH**2 / 4
    return POLE * ((1 - share) * cylinder + share * half_balls)


HINGE_INERTIA = _capsule_inertia() + POLE * TO_CENTRE**2
"""Of the pole about its hinge"""

RAIL = 1.8
RAIL_TIME, RAIL_DAMPING = 0.08, 1.0
"""``solref``: time constant and damping ratio of the spring at either end"""
IMPEDANCE, FULL_IMPEDANCE, IMPEDANCE_WIDTH = 0.9, 0.95, 0.001
"""``solimp``: at the end of the rail, beyond, and how far beyond; midpoint 0.5 and power 2 are written into `_rail`"""
RAIL_STIFFNESS = 1 / (FULL_IMPEDANCE * RAIL_TIME * RAIL_DAMPING) ** 2
RAIL_RESISTANCE = 2 / (FULL_IMPEDANCE * RAIL_TIME)
INVERSE_WEIGHT = HINGE_INERTIA / ((CART + POLE) * HINGE_INERTIA - (POLE * TO_CENTRE) ** 2)
"""``invweight0``, 0.97335: how far a unit force accelerates the cart with its pole upright"""


class CartPoleState(eqx.Module):
    """Position of the cart, angle of the pole from upright, their velocities, and the steps this episode has taken."""

    position: Float[Array, ""]
    angle: Float[Array, ""]
    velocity: Float[Array, ""]
    angular_velocity: Float[Array, ""]
    time: Int[Array, ""]


def _rail(
    position: Float[Array, ""], velocity: Float[Array, ""], acceleration: Float[Array, ""], mobility: Float[Array, ""]
) -> Float[Array, ""]:
    """Force of the rail's ends on the cart, given its acceleration without them and per unit of force.

    MuJoCo's soft limit asks for the acceleration of a damped spring and gets it in part: the impedance says how much,
    and rises over the first millimetre. With one constraint its optimisation problem has this closed form.
    """
    outwards = jnp.sign(position)
    beyond = jnp.abs(position) - RAIL
    depth = jnp.clip(beyond / IMPEDANCE_WIDTH, 0.0, 1.0)
    rise = jnp.where(depth <= 0.5, 2 * depth**2, 1 - 2 * (1 - depth) ** 2)
    impedance = IMPEDANCE + rise * (FULL_IMPEDANCE - IMPEDANCE)
    wanted = RAIL_RESISTANCE * outwards * velocity + RAIL_STIFFNESS * impedance * beyond
    softness = (1 - impedance) / impedance * INVERSE_WEIGHT
    inwards = jnp.maximum((wanted + outwards * acceleration) / (mobility + softness), 0.0)  # it never pulls
    return jnp.where(beyond > 0, -outwards * inwards, 0.0)


def _rate(motion: Float[Array, "4"], force: Float[Array, ""]) -> Float[Array, "4"]:
    """Time derivative of (position, angle, velocity, angular velocity)."""
    position, angle, velocity, angular_velocity = motion
    lever = POLE * TO_CENTRE
    coupling = lever * jnp.cos(angle)
    determinant = (CART + POLE) * HINGE_INERTIA - coupling**2
    push = force - CART_DAMPING * velocity + lever * jnp.sin(angle) * angular_velocity**2
    torque = GRAVITY * lever * jnp.sin(angle) - POLE_DAMPING * angular_velocity
    free = (HINGE_INERTIA * push - coupling * torque) / determinant
    push = push + _rail(position, velocity, free, HINGE_INERTIA / determinant)
    acceleration = (HINGE_INERTIA * push - coupling * torque) / determinant
    angular_acceleration = ((CART + POLE) * torque - coupling * push) / determinant
    return jnp.stack([velocity, angular_velocity, acceleration, angular_acceleration])


class CartPole(AbstractControlEnv[CartPoleState]):
    """An action in [-1, 1] pushes the cart with ``force`` times it; the pole hangs at first and is to stand.

    An observation is (x, cos, sin, x', angle'), without bounds. Nothing terminates. Rewards, of the state reached:
    ``"paper"``, 1 where ``|x| < 0.1``, ``cos > 0.95``, ``|x'| < 1`` and ``|angle'| < 1``, less ``0.1 |a|`` of the
    action as given, before it is clipped; ``"dm_control"``, 1 where ``|x| <= 0.25`` and ``cos >= 0.995``, at no cost.

    Episodes start with ``init_noise`` times a standard normal number added to each of x, angle and velocities, as in
    the Control Suite; with 0 they start as in the paper's text, always the same.
    """

    force: float | Float[Array, ""] = 10.0
    init_noise: float | Float[Array, ""] = 0.01
    reward: Reward = eqx.field(static=True, default="paper")
    time_limit: int = eqx.field(static=True, default=1000)

    def __check_init__(self) -> None:
        if self.reward not in ("paper", "dm_control"):
            raise ValueError(f"reward must be 'paper' or 'dm_control', got {self.reward!r}")

    @property
    def spaces(self) -> Spaces:
        high = [math.inf, 1.0, 1.0, math.inf, math.inf]  # the rail's soft ends bound no position
        return Spaces(box([-bound for bound in high], high), box([-1.0], [1.0]))

    def reset(self, key: Key[Array, ""]) -> CartPoleState:
        noise = jnp.asarray(self.init_noise, float) * jax.random.normal(key, (4,), dtype=float)
        return self.at(noise[0], math.pi + noise[1], noise[2], noise[3])

    def at(
        self,
        position: Float[Array, ""],
        angle: Float[Array, ""],
        velocity: Float[Array, ""],
        angular_velocity: Float[Array, ""],
    ) -> CartPoleState:
        """An episode that begins there."""
        return CartPoleState(position, angle, velocity, angular_velocity, jnp.zeros((), jnp.int32))

    def observe(self, state: CartPoleState) -> Float[Array, "5"]:
        cos, sin = jnp.cos(state.angle), jnp.sin(state.angle)
        return jnp.stack([state.position, cos, sin, state.velocity, state.angular_velocity])

    def step(self, key: Key[Array, ""], state: CartPoleState, action: Float[Array, " 1"]) -> EnvStep[CartPoleState]:
        motion = jnp.stack([state.position, state.angle, state.velocity, state.angular_velocity])
        force = jnp.asarray(self.force, motion.dtype) * jnp.clip(action[0], -1.0, 1.0)
        position, angle, velocity, angular_velocity = runge_kutta(_rate, motion, force, STEP)
        time = state.time + 1
        reached = CartPoleState(position, angle, velocity, angular_velocity, time)
        reward = self.balanced(reached).astype(motion.dtype)
        if self.reward == "paper":
            reward = reward - 0.1 * jnp.abs(action[0])
        truncated = out_of_time(time, self.time_limit)
        return EnvStep(reached, reward, jnp.zeros((), bool), truncated)

    def balanced(self, state: CartPoleState) -> Bool[Array, ""]:
        """Whether the state earns the reward of 1."""
        cos = jnp.cos(state.angle)
        if self.reward == "dm_control":
            return (jnp.abs(state.position) <= 0.25) & (cos >= 0.995)
        calm = (jnp.abs(state.velocity) < 1) & (jnp.abs(state.angular_velocity) < 1)
        return (jnp.abs(state.position) < 0.1) & (cos > 0.95) & calm
