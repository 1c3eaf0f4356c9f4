"""Observations brought to [-1, 1] from the bounds of their space."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Scaling(eqx.Module):
    """``low`` becomes -1, ``high`` becomes 1; where a bound is infinite the entry stays as it is."""

    low: Float[Array, " d"]
    high: Float[Array, " d"]

    def __call__(self, observation: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        bounded = jnp.isfinite(self.low) & jnp.isfinite(self.high)
        low, high = (jnp.where(bounded, bound, other) for bound, other in ((self.low, -1.0), (self.high, 1.0)))
        scaled = 2 * (observation - low) / (high - low) - 1
        return jnp.where(bounded, scaled, observation)
