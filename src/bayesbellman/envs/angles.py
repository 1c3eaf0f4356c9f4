"""Angles that go round."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float


def wrapped(angle: Float[Array, "..."]) -> Float[Array, "..."]:
    """The same direction, between -pi and pi: it keeps its digits however often it goes round."""
    return jnp.remainder(angle + math.pi, 2 * math.pi) - math.pi
