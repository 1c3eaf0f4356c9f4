"""Arithmetic on parameter trees. psi, omega and epsilon have one type, so the slow update is one interpolation."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree


def squared_norm(tree: PyTree[Array]) -> Float[Array, ""]:
    """``||tree||_2^2`` over all leaves."""
    return sum((jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)), start=jnp.zeros(()))


def no_nan(tree: PyTree[Array]) -> Bool[Array, ""]:
    """Whether no number of it is nan; infinite ones may mean something, the bounds of a space say."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return jnp.logical_not(jnp.any(jnp.stack([jnp.any(jnp.isnan(leaf)) for leaf in leaves])))


def project_to_ball(tree: PyTree[Array], radius: float | Float[Array, ""]) -> PyTree[Array]:
    """``P_Omega`` for the ball of the given radius around 0: the nearest point in it (paper, eq. `rp_updates_slow`).

    A tree inside the ball is returned as it is, bit for bit; ``radius = inf`` never moves anything.
    """
    if isinstance(radius, float) and math.isinf(radius):
        return tree  # no norm is taken in an inner loop that does not ask for one
    square = squared_norm(tree)
    outside = square > radius**2
    # In units of the largest, whose square may be too large a number; only of what is outside, as at tree = 0 the
    # gradient of the root would be infinite.
    largest = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)).astype(square.dtype) for leaf in jax.tree.leaves(tree)]))
    unit = jnp.where(outside, largest, jnp.ones_like(largest))
    in_units = squared_norm(jax.tree.map(lambda leaf: leaf / unit.astype(leaf.dtype), tree))
    shrink = radius / (unit * jnp.sqrt(jnp.where(outside, in_units, jnp.ones_like(in_units))))
    return jax.tree.map(lambda leaf: jnp.where(outside, leaf * shrink.astype(leaf.dtype), leaf), tree)


def slow_update(
    omega: PyTree[Array],
    psi: PyTree[Array],
    beta: float | Float[Array, ""],
    radius: float | Float[Array, ""] = float("inf"),
) -> PyTree[Array]:
    """``omega <- P_Omega(omega - beta (omega - psi))`` (paper, eq. `rp_updates_slow`); ``beta = 1`` is omega := psi,
    to rounding."""
    moved = jax.tree.map(lambda o, p: o - jnp.asarray(beta, o.dtype) * (o - p), omega, psi)
    return project_to_ball(moved, radius)
