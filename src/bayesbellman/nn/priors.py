"""Prior functions: fixed random functions added to what is learnt (Osband et al. 2018)."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from bayesbellman.nn.mlp import each_value


class WithPrior(eqx.Module):
    """``f + prior_scale p``: a network, and a fixed random one that is never trained; or the network alone."""

    network: PyTree
    prior: PyTree | None
    prior_scale: Float[Array, "*members"]

    def __call__(self, inputs: Any) -> Float[Array, "*batch"]:
        if self.prior is None:
            return self.network(inputs)
        prior, scale = self._fixed()
        values, prior_values = each_value((self.network, prior), inputs)
        return values + scale.astype(values.dtype) * prior_values

    def outputs(self, observation: Any) -> Float[Array, "*batch actions"]:
        """The values of all actions, of networks that give them, at what these take for an observation."""
        values = self.network.outputs(observation)
        if self.prior is None:
            return values
        prior, scale = self._fixed()
        return values + scale.astype(values.dtype) * prior.outputs(observation)

    def _fixed(self) -> tuple[PyTree, Float[Array, "*members"]]:
        """The prior and its scale, which no optimiser moves; values still change with the inputs through them, as an
        actor must see."""
        return jax.lax.stop_gradient((self.prior, self.prior_scale))
