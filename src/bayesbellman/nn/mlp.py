"""Value functions with parameters: a multilayer perceptron, and a function linear in given features.

A network *is* its parameters, a pytree that can be called: psi, omega and epsilon are values of one type.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key


def joined(inputs: Any) -> Float[Array, "*batch d"]:
    """Observations, or observations and actions side by side."""
    return jnp.concatenate(inputs, axis=-1) if isinstance(inputs, tuple) else inputs


class MLP(eqx.Module):
    """Layers of affine maps with an activation between them; called, it gives the first of its outputs."""

    kernels: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]
    activation: Callable[[Array], Array] = eqx.field(static=True, default=jax.nn.relu)

    @classmethod
    def glorot(
        cls,
        key: Key[Array, ""],
        num_inputs: int,
        hidden: Sequence[int] = (256,),
        activation: Callable[[Array], Array] = jax.nn.relu,
        num_outputs: int = 1,
    ) -> "MLP":
        """Glorot-uniform kernels, zero biases: the paper's initialisation."""
        sizes = [num_inputs, *hidden, num_outputs]
        initialise = jax.nn.initializers.glorot_uniform()
        keys = jax.random.split(key, len(sizes) - 1)
        kernels = tuple(initialise(k, shape) for k, shape in zip(keys, pairwise(sizes), strict=True))
        return cls(kernels, tuple(jnp.zeros(size) for size in sizes[1:]), activation)

    def outputs(self, inputs: Any) -> Float[Array, "*batch out"]:
        x = joined(inputs)
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1], strict=True):
            x = self.activation(x @ kernel + bias)
        return x @ self.kernels[-1] + self.biases[-1]

    def __call__(self, inputs: Any) -> Float[Array, "*batch"]:
        return self.outputs(inputs)[..., 0]


class LinearFunction(eqx.Module):
    """``v^T phi`` for inputs that are features."""

    weights: Float[Array, " n"]

    def __call__(self, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ self.weights
