"""Random draws as functions of given noise, so that any source of random numbers can drive them."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def categorical(uniform: Float[Array, ""], probabilities: Float[Array, " k"]) -> Int[Array, ""]:
    """The first index of any probability whose cumulative probability exceeds a uniform number in [0, 1)."""
    cumulative, possible = jnp.cumsum(probabilities), probabilities > 0
    # A sum in parallel rounds: it may move where a probability is 0, and stop short of 1. What is impossible is never
    # drawn all the same, and the remainder falls to the last index with any probability.
    total = jnp.max(jnp.where(possible, cumulative, jnp.zeros_like(cumulative)))
    below_total = jnp.minimum(uniform, jnp.nextafter(total, jnp.zeros_like(total)))
    return jnp.argmax(possible & (cumulative > below_total)).astype(jnp.int32)
