"""Linear-quadratic processes: the cart-pole and the 20-link pole of the linear benchmark (Dann et al. 2014).

``s' = A s + B a + xi``, ``xi ~ N(0, diag(noise))``, reward ``s^T Q s + a^T R a`` of the state left. Nothing terminates.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bayesbellman.envs.base import AbstractNoiseDrivenEnv, EnvStep, out_of_time


class LinearQuadraticState(eqx.Module):
    """The state vector, and how many steps this episode has taken."""

    vector: Float[Array, " S"]
    time: Int[Array, ""]


class LinearQuadratic(AbstractNoiseDrivenEnv[LinearQuadraticState]):
    """Linear dynamics with Gaussian noise and a quadratic reward; an observation is the state vector."""

    dynamics: Float[Array, "S S"]
    """A"""
    control: Float[Array, "S D"]
    """B"""
    state_reward: Float[Array, "S S"]
    """Q"""
    action_reward: Float[Array, "D D"]
    """R"""
    noise: Float[Array, " S"]
    """Variance of each entry of the process noise"""
    start: Float[Array, " S"]
    time_limit: int = eqx.field(static=True, default=0)

    def draw(self, key: Key[Array, ""]) -> Float[Array, " S"]:
        return jax.random.normal(key, self.start.shape, self.start.dtype)

    def begin(self, noise: Float[Array, " S"]) -> LinearQuadraticState:
        return LinearQuadraticState(self.start, jnp.zeros((), jnp.int32))

    def observe(self, state: LinearQuadraticState) -> Float[Array, " S"]:
        return state.vector

    def advance(
        self, noise: Float[Array, " S"], state: LinearQuadraticState, action: Float[Array, " D"]
    ) -> EnvStep[LinearQuadraticState]:
        s_t, time = state.vector, state.time + 1
        reward = s_t @ self.state_reward @ s_t + action @ self.action_reward @ action
        s_tp1 = self.dynamics @ s_t + self.control @ action + jnp.sqrt(self.noise) * noise
        truncated = out_of_time(time, self.time_limit)
        return EnvStep(LinearQuadraticState(s_tp1, time), reward, jnp.zeros((), bool), truncated)


def balanced_cart_pole() -> LinearQuadratic:
    """The linearised cart-pole: angle, angular velocity, position, velocity; one force.

    Two entries of the dynamics look like slips of the benchmark (no gravity in the angle's acceleration, no time step
    in the damping of the cart); they are kept, since the published numbers come from them.
    """
    pole, cart, length, friction, dt, gravity = 0.5, 0.5, 0.6, 0.1, 0.1, 9.81
    k = 4 * cart - pole
    dynamics = np.array(
        [
            [1.0, dt, 0.0, 0.0],
            [3 * dt * (cart + pole) / (k * length), 1 + 3 * dt * friction / k, 0.0, 0.0],
            [0.0, 0.0, 1.0, dt],
            [3 * dt * pole * gravity / k, -4 * friction / k, 0.0, 1.0],
        ]
    )
    return _build(
        dynamics,
        control=np.array([[0.0], [-3 * dt / (length * k)], [0.0], [4 * dt / k]]),
        state_reward=np.diag([-100.0, 0.0, -1.0, 0.0]),
        action_reward=np.array([[-0.1]]),
        noise=np.array([0.0, 0.0, 0.0, 0.01]),
        start=np.array([1e-4, 0.0, 0.0, 0.0]),
    )


def linked_pole(links: int = 20) -> LinearQuadratic:
    """A pole of many links, linearised upright: angles, then angular velocities; a torque per link.

    The reward is ``+0.01`` per squared angle: as in the benchmark it is a cost, and values are positive.
    """
    mass, length, dt, gravity = 0.5, 0.6, 0.1, 9.81
    carried = mass * np.arange(links, 0, -1.0)  # mass of a link and all above it
    inertia = length**2 * np.minimum.outer(carried, carried)
    torque = np.diag(-gravity * length * carried)
    inverse, zero, identity = np.linalg.inv(inertia), np.zeros((links, links)), np.eye(links)
    return _build(
        dynamics=np.eye(2 * links) + dt * np.block([[zero, identity], [-inverse @ torque, zero]]),
        control=dt * np.vstack([zero, inverse]),
        state_reward=np.diag(np.repeat([0.01, 0.0], links)),
        action_reward=zero,
        noise=np.ones(2 * links),
        start=np.zeros(2 * links),
    )


def _build(
    dynamics: np.ndarray,
    control: np.ndarray,
    state_reward: np.ndarray,
    action_reward: np.ndarray,
    noise: np.ndarray,
    start: np.ndarray,
) -> LinearQuadratic:
    return LinearQuadratic(
        dynamics=jnp.asarray(dynamics, dtype=float),
        control=jnp.asarray(control, dtype=float),
        state_reward=jnp.asarray(state_reward, dtype=float),
        action_reward=jnp.asarray(action_reward, dtype=float),
        noise=jnp.asarray(noise, dtype=float),
        start=jnp.asarray(start, dtype=float),
    )
