"""Feature maps of finite state spaces, as tables with one row per state."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def tabular_features(num_states: int) -> Float[Array, "S S"]:
    """One indicator per state: any value function is linear in them."""
    return jnp.eye(num_states)


def triangular_features(num_states: int, num_features: int) -> Float[Array, "S n"]:
    """Overlapping triangles, evenly spaced over the states: linear interpolation between ``num_features`` knots.

    The features of the Boyan chain (14 states, 4 features; Boyan 1999).
    """
    if not 2 <= num_features <= num_states:
        raise ValueError(f"num_features is {num_features}; accepted are 2 to num_states = {num_states}")
    positions = jnp.arange(num_states, dtype=float)
    knots = jnp.linspace(0.0, num_states - 1.0, num_features)
    width = (num_states - 1.0) / (num_features - 1.0)
    return jnp.maximum(0.0, 1.0 - jnp.abs(positions[:, None] - knots[None, :]) / width)
