"""Prior functions: fixed random functions added to what is learnt (Osband et al. 2018)."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree


class WithPrior(eqx.Module):
    """``f + prior_scale p``: a network, and a fixed random one that is never trained; or the network alone."""

    network: PyTree
    prior: PyTree | None
    prior_scale: Float[Array, "*members"]

    def __call__(self, inputs: Any) -> Float[Array, "*batch"]:
        values = self.network(inputs)
        if self.prior is None:
            return values
        # Nothing flows into the prior or its scale, so no optimiser moves them.
        return values + jax.lax.stop_gradient(self.prior_scale.astype(values.dtype) * self.prior(inputs))
