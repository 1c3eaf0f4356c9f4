"""bsuite's cart-pole swing-up: moving costs, and only a pole that stands earns. Who does not explore stays still.

The DeepMind Control Suite's task, with continuous actions, is in `cartpole`.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.envs.base import AbstractControlEnv, EnvStep, out_of_time
from bayesbellman.envs.pole_physics import PoleState, begin, euler
from bayesbellman.envs.spaces import Discrete, Spaces, box

STEP = 0.01
FORCE = 10.0
FARTHEST = 3.0
SETTINGS = 20
"""Of bsuite's experiment"""


class CartPoleSwingUp(AbstractControlEnv[PoleState]):
    """Actions 0, 1 and 2 push the cart left, not at all and right; the pole hangs at first.

    A step earns 1 where ``cos > height_threshold``, ``|angle'| < theta_dot_threshold`` and ``|x| < x_reward_threshold``
    in the state reached, and costs ``move_cost`` if it pushes. An episode terminates beyond ``|x| = 3``, or when its
    ``steps`` are over: time is a part of the state, and is observed.

    An observation is (x / 3, x' / 3, sin, cos, angle', time / steps), then 1 or -1 for ``|x|`` within its threshold or
    not, and for ``|angle'|``.
    """

    height_threshold: float | Float[Array, ""] = 0.5
    x_reward_threshold: float | Float[Array, ""] = 1.0
    theta_dot_threshold: float | Float[Array, ""] = 1.0
    move_cost: float | Float[Array, ""] = 0.1
    init_range: float | Float[Array, ""] = 0.05
    """Each of x, angle (from hanging) and velocities is uniform within it at the start"""
    steps: int = eqx.field(static=True, default=1000)
    """The one after these is the last: bsuite's clock has then passed its 10 seconds"""
    time_limit: int = eqx.field(static=True, default=0)

    @property
    def spaces(self) -> Spaces:
        most = [math.inf, math.inf, 1.0, 1.0, math.inf, (self.steps + 1) / self.steps, 1.0, 1.0]
        least = [-bound for bound in most]
        least[5] = 0.0
        return Spaces(box(least, most), Discrete(3))

    def reset(self, key: Key[Array, ""]) -> PoleState:
        noise = jnp.asarray(self.init_range, float) * jax.random.uniform(key, (4,), dtype=float, minval=-1.0)
        return self.at(noise[0], noise[1], math.pi + noise[2], noise[3])

    def at(
        self,
        position: Float[Array, ""],
        velocity: Float[Array, ""],
        angle: Float[Array, ""],
        angular_velocity: Float[Array, ""],
    ) -> PoleState:
        """An episode that begins there."""
        return begin(position, velocity, angle, angular_velocity)

    def observe(self, state: PoleState) -> Float[Array, "8"]:
        dtype = state.angle.dtype
        return jnp.stack(
            [
                state.position / FARTHEST,
                state.velocity / FARTHEST,
                jnp.sin(state.angle),
                jnp.cos(state.angle),
                state.angular_velocity,
                state.time.astype(dtype) / self.steps,
                jnp.where(self._central(state), 1.0, -1.0).astype(dtype),
                jnp.where(self._slow(state), 1.0, -1.0).astype(dtype),
            ]
        )

    def step(self, key: Key[Array, ""], state: PoleState, action: Int[Array, ""]) -> EnvStep[PoleState]:
        dtype = state.angle.dtype
        push = (action - 1).astype(dtype)
        reached = euler(state, FORCE * push, STEP)
        # the angle is only ever seen by its sine and cosine; wrapped, it keeps its digits
        reached = eqx.tree_at(lambda s: s.angle, reached, jnp.remainder(reached.angle, 2 * math.pi))
        reward = self.upright(reached).astype(dtype) - jnp.asarray(self.move_cost, dtype) * jnp.abs(push)
        terminated = (jnp.abs(reached.position) > FARTHEST) | (reached.time > self.steps)
        truncated = out_of_time(reached.time, self.time_limit)
        return EnvStep(reached, reward, terminated, truncated)

    def upright(self, state: PoleState) -> Bool[Array, ""]:
        """Whether the state earns the reward of 1."""
        high = jnp.cos(state.angle) > jnp.asarray(self.height_threshold, state.angle.dtype)
        return high & self._slow(state) & self._central(state)

    def _central(self, state: PoleState) -> Bool[Array, ""]:
        return jnp.abs(state.position) < jnp.asarray(self.x_reward_threshold, state.position.dtype)

    def _slow(self, state: PoleState) -> Bool[Array, ""]:
        return jnp.abs(state.angular_velocity) < jnp.asarray(self.theta_dot_threshold, state.angle.dtype)


def bsuite_swing_up(setting: int = 0) -> CartPoleSwingUp:
    """With the thresholds of bsuite's ``cartpole_swingup/<setting>``, from 0, the easiest, to 19."""
    if not 0 <= setting < SETTINGS:
        raise ValueError(f"setting must be from 0 to {SETTINGS - 1}, got {setting}")
    return CartPoleSwingUp(height_threshold=setting / 20, x_reward_threshold=1 - setting / 20)
