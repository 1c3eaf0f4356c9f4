"""Actions as agents have them, and as environments take them.

A continuous action is a vector within [-1, 1], whatever the environment's bounds; a discrete one is an integer of 32
bits, whatever JAX's precision, and the same for both.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Shaped

from bayesbellman.envs.spaces import Box, Discrete

ActionSpace = Box | Discrete


def any_action(key: Key[Array, ""], space: ActionSpace) -> Shaped[Array, "*A"]:
    """One drawn uniformly."""
    if isinstance(space, Discrete):
        return jax.random.randint(key, (), 0, space.number, jnp.int32)
    return jax.random.uniform(key, (space.size,), minval=-1.0)


def no_action(space: ActionSpace) -> Shaped[Array, "*A"]:
    """One that only shows what they look like."""
    return jnp.zeros((), jnp.int32) if isinstance(space, Discrete) else jnp.zeros(space.size)


def for_environment(space: ActionSpace, action: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """In the environment's units."""
    return action if isinstance(space, Discrete) else to_bounds(space, action)


def to_bounds(space: Box, action: Float[Array, "*batch A"]) -> Float[Array, "*batch A"]:
    """An action within [-1, 1], in the environment's units."""
    low, high = space.low.astype(action.dtype), space.high.astype(action.dtype)
    return low + (action + 1) / 2 * (high - low)
