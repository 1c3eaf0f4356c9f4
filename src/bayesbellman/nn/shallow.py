"""Networks with one hidden layer, as a CPU works them out fastest: it is memory that they cost.

Inputs are in columns, so that rows of what the hidden layer gives are as long as the batch, and the products of a
gradient run along them. Biases are a column of the kernels with an input of 1: their gradients need no pass of their
own.
"""

from collections.abc import Callable
from functools import reduce
from operator import add

import jax.numpy as jnp
from jaxtyping import Array, Float

FEW_GATED = 4
"""Up to so many inputs, gates cost less than units."""


def augmented(
    inputs: Float[Array, "*batch d"], kernel: Float[Array, "hidden d"], bias: Float[Array, " hidden"]
) -> tuple[Float[Array, "d+1 n"], Float[Array, "hidden d+1"]]:
    """Inputs in columns that end in 1, and the kernel with its bias beside it."""
    rows = inputs.reshape(-1, inputs.shape[-1])
    columns = jnp.concatenate([rows.T, jnp.ones((1, rows.shape[0]), rows.dtype)])
    return columns, jnp.concatenate([kernel, bias[:, None]], axis=1)


def through_units(
    columns: Float[Array, "d n"],
    first: Float[Array, "hidden d"],
    last: Float[Array, "out hidden"],
    activation: Callable[[Array], Array],
) -> Float[Array, "out n"]:
    """``U f(W x)`` for each column x."""
    return last @ activation(first @ columns)


def combined(parts: Float[Array, "d ..."], columns: Float[Array, "d n"]) -> Float[Array, "... n"]:
    """``sum_k parts_k columns_k`` in so many words, which XLA fuses with what follows, as it does not a product."""
    return reduce(add, (part * column for part, column in zip(parts, columns, strict=True)))


def through_gates(
    columns: Float[Array, "d n"], first: Float[Array, "hidden d"], last: Float[Array, " hidden"]
) -> Float[Array, " n"]:
    """``u^T max(W x, 0)`` for each column x, as ``sum_k x_k sum_j u_j W_jk g_j`` with gates ``g = 1[W x > 0]``.

    The gates are the only array as large as the layer times the batch: one pass writes them, one reads them for the
    values and one for the gradient. They are constant wherever `max` has a derivative, so that those of any order, in
    inputs and parameters, are right without a rule of their own.
    """
    gates = (combined(first.T[:, :, None], columns) > 0).astype(columns.dtype)
    return combined((first * last[:, None]).T @ gates, columns)
