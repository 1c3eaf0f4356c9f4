"""Feature maps: tables with one row per state for finite spaces, quadratic forms for vectors."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


def tabular_features(num_states: int) -> Float[Array, "S S"]:
    """One indicator per state: any value function is linear in them."""
    return jnp.eye(num_states)


def triangular_features(num_states: int, num_features: int) -> Float[Array, "S n"]:
    """Overlapping triangles, evenly spaced over the states: linear interpolation between ``num_features`` knots.

    The features of the Boyan chain (14 states, 4 features; Boyan 1999).
    """
    if not 2 <= num_features <= num_states:
        raise ValueError(f"num_features is {num_features}; accepted are 2 to num_states = {num_states}")
    positions = jnp.arange(num_states, dtype=float)
    knots = jnp.linspace(0.0, num_states - 1.0, num_features)
    width = (num_states - 1.0) / (num_features - 1.0)
    return jnp.maximum(0.0, 1.0 - jnp.abs(positions[:, None] - knots[None, :]) / width)


def random_features(seed: int, num_states: int, num_features: int) -> Float[Array, "S n"]:
    """Uniform random numbers and a last feature that is 1 everywhere: those of the benchmark's random process."""
    table = np.random.RandomState(seed).random_sample((num_states, num_features - 1))
    return jnp.asarray(np.column_stack([table, np.ones(num_states)]), dtype=float)


class AbstractFeatures(eqx.Module):
    """``v(s)``: observations to feature vectors, for any leading axes."""

    @property
    @abc.abstractmethod
    def num_features(self) -> int:
        """n"""

    @abc.abstractmethod
    def __call__(self, observation: Any) -> Float[Array, "*batch n"]:
        """Features of a batch of observations."""


class TableFeatures(AbstractFeatures):
    """A table's rows, by the state's index."""

    table: Float[Array, "S n"]

    @property
    def num_features(self) -> int:
        return self.table.shape[1]

    def __call__(self, observation: Int[Array, "*batch"]) -> Float[Array, "*batch n"]:
        return self.table[observation]


class SquareFeatures(AbstractFeatures):
    """``s_i^2 / scale_i``: no constant and no products, so that few quadratic values can be represented."""

    scale: Float[Array, " n"]

    @property
    def num_features(self) -> int:
        return self.scale.shape[0]

    def __call__(self, observation: Float[Array, "*batch S"]) -> Float[Array, "*batch n"]:
        return observation**2 / self.scale


class QuadraticFeatures(AbstractFeatures):
    """``s_i s_j`` for ``i <= j`` (twice where they differ) and a constant, over their scales: any quadratic value."""

    scale: Float[Array, " n"]

    @property
    def num_features(self) -> int:
        return self.scale.shape[0]

    def __call__(self, observation: Float[Array, "*batch S"]) -> Float[Array, "*batch n"]:
        first, second = np.triu_indices(observation.shape[-1])
        times = jnp.asarray(np.where(first == second, 1.0, 2.0), observation.dtype)
        products = times * observation[..., first] * observation[..., second]
        return jnp.concatenate([products, jnp.ones_like(observation[..., :1])], axis=-1) / self.scale
