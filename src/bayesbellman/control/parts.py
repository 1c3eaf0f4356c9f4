"""What the agents share: an optimised network, the actors' losses, a temperature that tunes itself.

Losses are written once, for one critic and a batch (paper, "Bayesian Bellman Actor-Critic"; Haarnoja et al. 2018).
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key, PyTree

from bayesbellman.core.bellman import SampledAction
from bayesbellman.nn.actors import TanhGaussian

ADAM = optax.adam(1.0)
"""Learning rates multiply its steps, so that they are numbers that can be swept."""


class Optimised(eqx.Module):
    """Parameters, and what Adam remembers of them."""

    parameters: PyTree
    memory: PyTree

    @classmethod
    def fresh_each(cls, parameters: PyTree) -> "Optimised":
        """Of stacked networks, each with a memory of its own."""
        return jax.vmap(cls.fresh)(parameters)

    @classmethod
    def fresh(cls, parameters: PyTree) -> "Optimised":
        return cls(parameters, ADAM.init(parameters))

    def step(self, gradient: PyTree, rate: float | Float[Array, ""]) -> "Optimised":
        steps, memory = ADAM.update(gradient, self.memory)
        moved = jax.tree.map(lambda p, s: p + jnp.asarray(rate, p.dtype) * s, self.parameters, steps)
        return Optimised(moved, memory)


def actor_loss(
    actor: TanhGaussian,
    key: Key[Array, ""],
    critic: Callable[[Any], Float[Array, " batch"]],
    observation: Float[Array, "batch d"],
    temperature: float | Float[Array, ""],
) -> tuple[Float[Array, ""], SampledAction]:
    """``mean(alpha log pi(a|s) - Q(s, a))``, a drawn from the actor by reparametrisation; alpha = 0 is the paper's."""
    drawn = actor.sample(key, observation)
    value = critic((observation, drawn.action))
    return jnp.mean(jnp.asarray(temperature, value.dtype) * drawn.log_prob - value), drawn


def temperature_gradient(
    log_prob: Float[Array, " batch"], target_entropy: float | Float[Array, ""]
) -> Float[Array, ""]:
    """Of ``-log alpha * mean(log pi + target)`` in log alpha: it rises while the entropy is below its target."""
    return -jnp.mean(jax.lax.stop_gradient(log_prob) + jnp.asarray(target_entropy, log_prob.dtype))
