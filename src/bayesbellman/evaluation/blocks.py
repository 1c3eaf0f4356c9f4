"""Rank-one recursions taken many transitions at a time: the same state by matrix products, where matrices are large.

A recursion that keeps ``M^-1`` under ``M += u v^T`` reads and writes all of it for every transition. By the Woodbury
identity a block of transitions needs that once, and the arithmetic becomes that of matrix products.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bayesbellman.core.linalg import woodbury_gain

BLOCK = 16
"""Transitions a block: from here on larger ones gain little."""
FROM_FEATURES = 64
"""Below, a matrix is so small that single transitions of many runs side by side are as fast."""


def update_inverse(inverse: Float[Array, "n n"], u: Float[Array, "N n"], v: Float[Array, "N n"]) -> Float[Array, "n n"]:
    """``(M + sum_i u_i v_i^T)^-1`` from ``M^-1``."""

    def one(inverse: Array, block: tuple[Array, Array]) -> tuple[Array, None]:
        return inverse - woodbury_gain(inverse, *block) @ (block[1] @ inverse), None

    return jax.lax.scan(one, inverse, (in_blocks(u), in_blocks(v)))[0]


def in_blocks(rows: Float[Array, "N ..."]) -> Float[Array, "blocks k ..."]:
    """Rows in blocks, the last filled up with zeros, which change nothing."""
    short = -rows.shape[0] % BLOCK
    padded = jnp.concatenate([rows, jnp.zeros((short, *rows.shape[1:]), rows.dtype)])
    return padded.reshape(-1, BLOCK, *rows.shape[1:])
