"""Deep Sea, with bsuite's dynamics: a chain that nobody crosses by chance.

A diver sinks through an N x N grid, one row a step, and goes left or right by one column. Right costs a little; only
who goes right N times finds the treasure. By chance that is one episode in ``2^N``.
"""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.envs.base import AbstractControlEnv, AbstractNoiseDrivenEnv, EnvStep, out_of_time
from bayesbellman.envs.spaces import Discrete, Spaces, one_hot


@cache
def action_mapping(size: int, mapping_seed: int | None) -> np.ndarray:
    """Which action goes right in each cell, as bsuite draws it from this seed; None: 1 everywhere."""
    mapping = np.ones((size, size), np.int32)
    if mapping_seed is not None:
        legacy = np.random.RandomState(mapping_seed)  # a `Generator` has no such numbers
        mapping[:] = legacy.binomial(1, 0.5, mapping.shape)
    mapping.setflags(write=False)  # it is kept, and handed out again
    return mapping


class DeepSeaState(eqx.Module):
    """The column of the diver, whether the episode is bad, and the steps it has taken."""

    column: Int[Array, ""]
    bad: Bool[Array, ""]
    """A left turn was taken on the diagonal, from where right alone leads to the treasure: bsuite's bad episode"""
    time: Int[Array, ""]

    @property
    def row(self) -> Int[Array, "*batch"]:
        """``size`` at the end of an episode, and more beyond it."""
        return self.time


class DeepSea(AbstractNoiseDrivenEnv[DeepSeaState], AbstractControlEnv[DeepSeaState]):
    """Actions 0 and 1, one of which goes right, in each cell another as ``mapping_seed`` says.

    An observation has a 1 for the diver's cell among the ``size^2``, row by row; after the last row, where the episode
    terminates, none. Going right costs ``move_cost / size``, and brings 1 from the last column. If ``stochastic``,
    going right fails in one of ``size`` steps (and costs), and a last step from either corner has a standard normal
    number added to its reward.
    """

    size: int = eqx.field(static=True)
    mapping_seed: int | None = eqx.field(static=True, default=42)
    """bsuite's experiments have 42; None: action 1 goes right everywhere"""
    stochastic: bool = eqx.field(static=True, default=False)
    move_cost: float | Float[Array, ""] = 0.01
    right: Int[Array, "rows columns"] | None = None
    """In place of ``mapping_seed``: the action that goes right in each cell. An array, so that one program under
    ``vmap`` has a mapping of its own in each copy: ``vmap(lambda right: ... DeepSea(10, right=right) ...)``"""
    time_limit: int = eqx.field(static=True, default=0)

    def __check_init__(self) -> None:
        if self.size < 2:
            raise ValueError(f"size must be at least 2, got {self.size}")
        if self.right is not None and self.right.shape != (self.size, self.size):
            raise ValueError(f"right must have shape {(self.size, self.size)}, got {self.right.shape}")

    @property
    def spaces(self) -> Spaces:
        return Spaces(one_hot(self.size**2), Discrete(2))

    @property
    def mapping(self) -> Int[Array, "rows columns"]:
        """The action that goes right in each cell."""
        if self.right is not None:
            return self.right
        return jnp.asarray(action_mapping(self.size, self.mapping_seed))

    @property
    def optimal_return(self) -> Float[Array, ""]:
        """bsuite's: of always going right, not discounted; if stochastic, as if all moves were then paid for."""
        arrived = (1 - 1 / self.size) ** (self.size - 1) if self.stochastic else 1.0
        return arrived - jnp.asarray(self.move_cost, float)

    def draw(self, key: Key[Array, ""]) -> Float[Array, "2"]:
        """A uniform number, for the move, and a standard normal one, for the reward."""
        move_key, reward_key = jax.random.split(key)
        return jnp.stack([jax.random.uniform(move_key, dtype=float), jax.random.normal(reward_key, dtype=float)])

    def begin(self, noise: Float[Array, "2"]) -> DeepSeaState:
        return self.at(jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    def at(self, row: Int[Array, ""], column: Int[Array, ""]) -> DeepSeaState:
        """An episode that is there, and not bad yet."""
        return DeepSeaState(column, jnp.zeros((), bool), row)

    def observe(self, state: DeepSeaState) -> Float[Array, " cells"]:
        cell = state.row * self.size + state.column  # below the last row there is no such cell
        return jax.nn.one_hot(cell, self.size**2, dtype=float)

    def advance(self, noise: Float[Array, "2"], state: DeepSeaState, action: Int[Array, ""]) -> EnvStep[DeepSeaState]:
        uniform, normal = noise
        last = self.size - 1
        right = action == self.mapping[jnp.minimum(state.row, last), state.column]
        cost = jnp.asarray(self.move_cost, noise.dtype) / self.size
        reward = jnp.where(right, (state.column == last).astype(noise.dtype) - cost, 0.0)
        moves = right
        if self.stochastic:
            corner = (state.row == last) & ((state.column == 0) | (state.column == last))
            reward = reward + jnp.where(corner, normal, 0.0)
            moves = right & (uniform > 1 / self.size)
        step = jnp.where(right, moves.astype(jnp.int32), -1)
        column = jnp.clip(state.column + step, 0, last)
        bad = state.bad | (~right & (state.row == state.column))
        time = state.time + 1
        truncated = out_of_time(time, self.time_limit)
        return EnvStep(DeepSeaState(column, bad, time), reward, time >= self.size, truncated)
