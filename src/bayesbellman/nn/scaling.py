"""Observations brought to [-1, 1] from the bounds of their space."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

WIDEST = 1e6


class Scaling(eqx.Module):
    """``low`` becomes -1, ``high`` becomes 1; an entry without bounds, or with bounds that say nothing, stays as it is.

    They say nothing where they are equal, or so far apart (`WIDEST`) that they stand for infinity.
    """

    low: Float[Array, " d"]
    high: Float[Array, " d"]

    def __call__(self, observation: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        half = self.high / 2 - self.low / 2  # of halves, so that it does not overflow
        bounded = jnp.isfinite(half) & (half > 0) & (half < WIDEST / 2)
        low, high = (jnp.where(bounded, bound, other) for bound, other in ((self.low, -1.0), (self.high, 1.0)))
        scaled = 2 * (observation - low) / (high - low) - 1
        return jnp.where(bounded, scaled, observation)
