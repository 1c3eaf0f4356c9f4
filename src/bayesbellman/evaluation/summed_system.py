"""A linear system summed over transitions and solved when asked: the state of the methods without a regulariser."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class SummedSystem(eqx.Module):
    """``matrix omega = rhs``, both sums over the transitions seen."""

    matrix: Float[Array, "n n"]
    rhs: Float[Array, " n"]

    @property
    def omega(self) -> Float[Array, " n"]:
        """By the pseudo-inverse (cut-off 1e-15, as in the benchmark): of least norm while too few were seen."""
        return jnp.linalg.pinv(self.matrix, rtol=1e-15) @ self.rhs


def empty_system(num_features: int) -> SummedSystem:
    """The sums over no transitions."""
    return SummedSystem(jnp.zeros((num_features, num_features)), jnp.zeros(num_features))
