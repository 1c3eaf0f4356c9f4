"""Random draws as functions of given noise, so that any source of random numbers can drive them."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def categorical(uniform: Float[Array, ""], probabilities: Float[Array, " k"]) -> Int[Array, ""]:
    """The first index whose cumulative probability exceeds a uniform number in [0, 1)."""
    cumulative = jnp.cumsum(probabilities)
    # Where rounding leaves the sum short of 1, the remainder falls to the last index with any probability.
    below_total = jnp.minimum(uniform, jnp.nextafter(cumulative[-1], jnp.zeros_like(uniform)))
    return jnp.sum(cumulative <= below_total).astype(jnp.int32)
