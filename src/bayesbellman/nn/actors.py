"""Stochastic policies for bounded continuous actions."""

import math
from collections.abc import Callable, Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bayesbellman.core.bellman import SampledAction
from bayesbellman.nn.mlp import MLP, relu

LOG_STD_BOUNDS = (-20.0, 2.0)
"""As in SAC: the deviation is neither lost to rounding nor larger than what the tanh can tell apart."""


class TanhGaussian(eqx.Module):
    """``a = tanh(u)``, ``u ~ N(mean(s), diag(std(s)^2))``: actions in (-1, 1), by the usual reparametrisation."""

    network: MLP
    """Gives means, then logarithms of deviations."""

    @classmethod
    def glorot(
        cls,
        key: Key[Array, ""],
        num_inputs: int,
        num_actions: int,
        hidden: Sequence[int],
        activation: Callable[[Array], Array] = relu,
        fused: Literal["many", "few"] | None = None,
    ) -> "TanhGaussian":
        return cls(MLP.glorot(key, num_inputs, hidden, activation, 2 * num_actions, fused))

    def moments(
        self, observation: Float[Array, "*batch d"]
    ) -> tuple[Float[Array, "*batch A"], Float[Array, "*batch A"]]:
        """Mean and log deviation of u."""
        mean, log_std = jnp.split(self.network.outputs(observation), 2, axis=-1)
        return mean, jnp.clip(log_std, *LOG_STD_BOUNDS)

    def mean_action(self, observation: Float[Array, "*batch d"]) -> Float[Array, "*batch A"]:
        return jnp.tanh(self.moments(observation)[0])

    def sample(self, key: Key[Array, ""], observation: Float[Array, "*batch d"]) -> SampledAction:
        """An action and its log-density, differentiable in the parameters."""
        mean, log_std = self.moments(observation)
        noise = jax.random.normal(key, mean.shape, mean.dtype)
        u = mean + jnp.exp(log_std) * noise
        # log(1 - tanh(u)^2), written so that it is finite for every u
        squash = 2 * (math.log(2.0) - u - jax.nn.softplus(-2 * u))
        density = -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi) - squash
        return SampledAction(jnp.tanh(u), jnp.sum(density, axis=-1))

    def perturbed(
        self, key: Key[Array, ""], observation: Float[Array, "*batch d"], scale: float | Float[Array, ""]
    ) -> Float[Array, "*batch A"]:
        """An action with ``scale`` times the noise of a sampled one."""
        mean, log_std = self.moments(observation)
        noise = jnp.asarray(scale, mean.dtype) * jax.random.normal(key, mean.shape, mean.dtype)
        return jnp.tanh(mean + jnp.exp(log_std) * noise)
