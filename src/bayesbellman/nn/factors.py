"""Factors of products as a GPU's matrix units take them, for the kernels of `bayesbellman.nn.fused`."""

from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

SMALLEST = 16
"""Side of a matrix that the matrix units take"""
LARGEST = 65504.0
"""Of float16. What is beyond counts as this: a network is wrong there, but finite."""


def parted(x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The nearest number of 8 bits, and what is left: as two factors of bfloat16 they are good to 16.

    By its bits: XLA takes a conversion there and back for nothing to be done.
    """
    leading = (lax.bitcast_convert_type(x, jnp.uint32) + jnp.uint32(0x8000)) & jnp.uint32(0xFFFF0000)
    high = lax.bitcast_convert_type(leading, jnp.float32)
    return high, x - high


def first_factors(first: Float[Array, "h1 d"], bias: Float[Array, " h1"]) -> Float[Array, "factors h1"]:
    """With `input_factors`, whose product with these is the first layer: what is low times low is left out."""
    (high, low), biases = parted(first.T), parted(bias)
    found = jnp.concatenate([high, low, high, *(one[None, :] for one in biases)])
    size = max(SMALLEST, pl.next_power_of_2(len(found)))
    return jnp.pad(found, ((0, size - len(found)), (0, 0))).astype(jnp.bfloat16)


def input_factors(columns: list, size: int) -> Float[Array, "rows factors"]:
    """High, high, low, and ones for the biases and beyond them, where `first_factors` has zeros."""
    number = len(columns)
    place = lax.broadcasted_iota(jnp.int32, (columns[0].shape[0], size), 1)
    found = jnp.where(place >= 3 * number, 1.0, 0.0)
    for k, column in enumerate(columns):
        high, low = parted(column)
        found = jnp.where((place == k) | (place == number + k), high[:, None], found)
        found = jnp.where(place == 2 * number + k, low[:, None], found)
    return found.astype(jnp.bfloat16)


def first_weights(first: Any, at: Any, place: int, number: int) -> Float[Array, " slice"]:
    """Of one of so many inputs, put together again."""
    return first[place, at].astype(jnp.float32) + first[number + place, at].astype(jnp.float32)


def to_float16(x: Float[Array, "..."]) -> Float[Array, "..."]:
    return jnp.clip(x, -LARGEST, LARGEST).astype(jnp.float16)


def product(a: Array, b: Array, of_a: int, of_b: int) -> Array:
    """Summed over an axis of each, in float32."""
    return lax.dot_general(a, b, (((of_a,), (of_b,)), ((), ())), preferred_element_type=jnp.float32)
