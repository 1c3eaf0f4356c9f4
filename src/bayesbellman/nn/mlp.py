"""Value functions with parameters: a multilayer perceptron, and a function linear in given features.

A network *is* its parameters, a pytree that can be called: psi, omega and epsilon are values of one type.
"""

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bayesbellman.core.devices import on_cpu, on_nvidia
from bayesbellman.nn.shallow import FEW_GATED, augmented, through_gates, through_units


def joined(inputs: Any) -> Float[Array, "*batch d"]:
    """Observations, or observations and actions side by side."""
    return jnp.concatenate(inputs, axis=-1) if isinstance(inputs, tuple) else inputs


FEW_INPUTS = 8
"""Up to so many, a first layer's products are written out."""


@jax.custom_jvp
def relu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """``max(x, 0)``; its derivative is read off the result, so that x itself need not be kept for it."""
    return jnp.maximum(x, 0)


@relu.defjvp
def _relu_jvp(primals: tuple, tangents: tuple) -> tuple:
    y = relu(primals[0])
    return y, jnp.where(y > 0, tangents[0], jnp.zeros_like(tangents[0]))


def affine(inputs: Any, kernel: Float[Array, "out d"], bias: Float[Array, " out"]) -> Float[Array, "*batch out"]:
    """``W x + b`` for each x, which may be in parts.

    With few inputs, as in a first layer, memory is what it costs. Then a product column by column that is fused with
    what follows is cheaper than a matrix product that is not, and parts that are not differentiated cost nothing.
    """
    if kernel.shape[1] > FEW_INPUTS:
        return joined(inputs) @ kernel.T + bias
    parts = inputs if isinstance(inputs, tuple) else (inputs,)
    columns = [part[..., k, None] for part in parts for k in range(part.shape[-1])]
    return sum((column * kernel[:, k] for k, column in enumerate(columns)), bias)


class MLP(eqx.Module):
    """Layers of affine maps with an activation between them; called, it gives the first of its outputs."""

    kernels: tuple[Float[Array, "_ _"], ...]
    """A row for each output: gradients then come in the layout that they are needed in."""
    biases: tuple[Float[Array, " _"], ...]
    activation: Callable[[Array], Array] = eqx.field(static=True, default=relu)
    fused: Literal["many", "few"] | None = eqx.field(static=True, default=None)
    """On a GPU: by the kernels of `bayesbellman.nn.fused`, where they fit, which have gradients of first order only; it
    says how many networks there are. None: not by them"""

    @classmethod
    def glorot(
        cls,
        key: Key[Array, ""],
        num_inputs: int,
        hidden: Sequence[int] = (256,),
        activation: Callable[[Array], Array] = relu,
        num_outputs: int = 1,
        fused: Literal["many", "few"] | None = None,
    ) -> "MLP":
        """Glorot-uniform kernels, zero biases: the paper's initialisation."""
        sizes = [num_inputs, *hidden, num_outputs]
        initialise = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)
        keys = jax.random.split(key, len(sizes) - 1)
        kernels = tuple(initialise(k, (out, d)) for k, (d, out) in zip(keys, pairwise(sizes), strict=True))
        return cls(kernels, tuple(jnp.zeros(size) for size in sizes[1:]), activation, fused)

    def outputs(self, inputs: Any) -> Float[Array, "*batch out"]:
        if (found := fused_outputs((self,), inputs)) is not None:
            return found[0]
        if len(self.kernels) == 2 and on_cpu():
            return self._shallow_outputs(joined(inputs))
        x: Any = inputs
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1], strict=True):
            x = self.activation(affine(x, kernel, bias))
        return affine(x, self.kernels[-1], self.biases[-1])

    def _shallow_outputs(self, inputs: Float[Array, "*batch d"]) -> Float[Array, "*batch out"]:
        columns, first = augmented(inputs, self.kernels[0], self.biases[0])
        last, bias = self.kernels[1], self.biases[1]
        if self.activation is relu and last.shape[0] == 1 and inputs.shape[-1] <= FEW_GATED:
            values = through_gates(columns, first, last[0])[None]
        else:
            values = through_units(columns, first, last, self.activation)
        return (values + bias[:, None]).T.reshape(*inputs.shape[:-1], last.shape[0])

    @property
    def fusable(self) -> bool:
        return self.fused is not None and len(self.kernels) == 3 and self.activation is relu

    def __call__(self, inputs: Any) -> Float[Array, "*batch"]:
        return self.outputs(inputs)[..., 0]


def each_value(networks: tuple, inputs: Any) -> list[Float[Array, "*batch"]]:
    """Of networks of one kind, at the same inputs: together, where that is faster."""
    found = None
    if all(isinstance(network, MLP) for network in networks):
        found = fused_outputs(networks, inputs)
    if found is not None:
        return [outputs[..., 0] for outputs in found]
    return [network(inputs) for network in networks]


def fused_outputs(networks: tuple[MLP, ...], inputs: Any) -> Float[Array, "networks rows out"] | None:
    """The outputs of networks of the same sizes, by the kernels of a GPU; None where these are not for them.

    They round the factors of products; whoever has asked JAX for a precision of products gets that.
    """
    parts = inputs if isinstance(inputs, tuple) else (inputs,)
    asked = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    if (
        not on_nvidia()
        or asked is not None
        or not all(network.fusable for network in networks)
        or any(part.ndim != 2 for part in parts)
    ):
        return None
    from bayesbellman.nn import fused  # Pallas is not everywhere, and takes a second

    nets = tuple(fused.Layers(*chain(*zip(net.kernels, net.biases, strict=True))) for net in networks)
    how = fused.HOW[networks[0].fused or "many"]
    return fused.two_hidden(nets, parts, how) if fused.fits(nets[0], parts[0].shape[0], how) else None


class LinearFunction(eqx.Module):
    """``v^T phi`` for inputs that are features."""

    weights: Float[Array, " n"]

    def __call__(self, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ self.weights
