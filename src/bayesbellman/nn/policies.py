"""Policies that say what they do and how likely it was: tables for finite spaces, linear-Gaussian for control."""

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bayesbellman.core.sampling import categorical


class AbstractPolicy(eqx.Module):
    """``pi(a | s)``. Called with a key it acts; `act` does so with given noise."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""]) -> Float[Array, "..."]:
        """Noise for one action."""

    @abc.abstractmethod
    def act(self, noise: Float[Array, "..."], observation: Any) -> Any:
        """The action that this noise makes."""

    @abc.abstractmethod
    def log_density(self, observation: Any, action: Any) -> Float[Array, ""]:
        """``log pi(a | s)``."""

    def __call__(self, key: Key[Array, ""], observation: Any) -> Any:
        return self.act(self.draw(key), observation)


class TabularPolicy(AbstractPolicy):
    """One row of action probabilities per state."""

    probabilities: Float[Array, "S A"]

    def draw(self, key: Key[Array, ""]) -> Float[Array, ""]:
        return jax.random.uniform(key, dtype=self.probabilities.dtype)

    def act(self, noise: Float[Array, ""], observation: Int[Array, ""]) -> Int[Array, ""]:
        return categorical(noise, self.probabilities[observation])

    def log_density(self, observation: Int[Array, ""], action: Int[Array, ""]) -> Float[Array, ""]:
        return jnp.log(self.probabilities[observation, action])


class LinearGaussianPolicy(AbstractPolicy):
    """``a ~ N(gain s, diag(variance))``. Zero variance is the deterministic policy, which has no density."""

    gain: Float[Array, "D S"]
    variance: Float[Array, " D"]
    as_published: bool = eqx.field(static=True, default=False)
    """The benchmark normalises the density by the root of the variances' sum, not of their product. With one action it
    is the same; with 20 the importance weights of its 20-link task are all too small by the same factor, 724."""

    def draw(self, key: Key[Array, ""]) -> Float[Array, " D"]:
        return jax.random.normal(key, self.variance.shape, self.variance.dtype)

    def act(self, noise: Float[Array, " D"], observation: Float[Array, " S"]) -> Float[Array, " D"]:
        return self.gain @ observation + jnp.sqrt(self.variance) * noise

    def log_density(self, observation: Float[Array, " S"], action: Float[Array, " D"]) -> Float[Array, ""]:
        error = action - self.gain @ observation
        spread = jnp.log(jnp.sum(self.variance)) if self.as_published else jnp.sum(jnp.log(self.variance))
        return -0.5 * (jnp.sum(error**2 / self.variance) + spread + error.shape[0] * math.log(2 * math.pi))


def importance_weight(
    target: AbstractPolicy, behaviour: AbstractPolicy, observation: Any, action: Any
) -> Float[Array, ""]:
    """``w = pi(a | s) / pi_e(a | s)``: what a sample of the behaviour policy counts for under the target policy."""
    return jnp.exp(target.log_density(observation, action) - behaviour.log_density(observation, action))
