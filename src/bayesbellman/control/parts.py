"""What the agents share: an optimised network, the actors' losses, a temperature that tunes itself.

Losses are written once, for one critic and a batch (paper, "Bayesian Bellman Actor-Critic"; Haarnoja et al. 2018).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

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

    def step_each(self, gradient: PyTree, rate: float | Float[Array, ""]) -> "Optimised":
        return jax.vmap(lambda one, gradient: one.step(gradient, rate))(self, gradient)

    def step(self, gradient: PyTree, rate: float | Float[Array, ""]) -> "Optimised":
        steps, memory = ADAM.update(gradient, self.memory)
        moved = jax.tree.map(lambda p, s: p + jnp.asarray(rate, p.dtype) * s, self.parameters, steps)
        return Optimised(moved, memory)


def actor_loss(
    log_prob: Float[Array, "*policies batch"],
    value: Float[Array, "*policies batch"],
    temperature: float | Float[Array, ""],
) -> Float[Array, "*policies"]:
    """``mean(alpha log pi(a|s) - Q(s, a))``, a drawn from the actor by reparametrisation; alpha = 0 is the paper's."""
    return jnp.mean(jnp.asarray(temperature, value.dtype) * log_prob - value, axis=-1)


def tuned_temperature(
    log_temperature: Optimised,
    log_prob: Float[Array, " batch"],
    num_actions: int,
    target_entropy: float | Float[Array, ""] | None,
    rate: float | Float[Array, ""],
) -> Optimised:
    """One step down ``-log alpha * mean(log pi + target)`` in log alpha: it rises while the entropy is below a target.

    That is minus the number of actions, unless it is given.
    """
    target = -float(num_actions) if target_entropy is None else target_entropy
    gradient = -jnp.mean(jax.lax.stop_gradient(log_prob) + jnp.asarray(target, log_prob.dtype))
    return log_temperature.step(gradient, rate)
