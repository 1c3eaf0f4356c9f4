"""A linear system summed over transitions and solved when asked: the state of the methods without a regulariser."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

PIVOT_RATIO = 1e-10
"""Smallest over largest pivot above which a matrix counts as well conditioned, far from the cut-off below."""


@jax.custom_batching.sequential_vmap  # a batch one by one: `vmap` would make `cond` compute both sides for all
def least_norm_solution(matrix: Float[Array, "n n"], rhs: Float[Array, " n"]) -> Float[Array, " n"]:
    """By the pseudo-inverse, with the benchmark's cut-off of 1e-15.

    Where the pivots show the matrix to be well conditioned that is the one solution, which elimination finds at once.
    """
    factors = jax.scipy.linalg.lu_factor(matrix)
    pivots = jnp.abs(jnp.diagonal(factors[0]))
    return jax.lax.cond(
        jnp.min(pivots) > PIVOT_RATIO * jnp.max(pivots),
        lambda: jax.scipy.linalg.lu_solve(factors, rhs),
        lambda: jnp.linalg.pinv(matrix, rtol=1e-15) @ rhs,
    )


class SummedSystem(eqx.Module):
    """``matrix omega = rhs``, both sums over the transitions seen."""

    matrix: Float[Array, "n n"]
    rhs: Float[Array, " n"]

    @property
    def omega(self) -> Float[Array, " n"]:
        """Of least norm while too few transitions were seen to determine it."""
        return least_norm_solution(self.matrix, self.rhs)


def empty_system(num_features: int) -> SummedSystem:
    """The sums over no transitions."""
    return SummedSystem(jnp.zeros((num_features, num_features)), jnp.zeros(num_features))
