"""What the agents share: an optimised network, losses, a temperature that tunes itself, what members are shown.

Losses are written once, for one critic and a batch (paper, "Bayesian Bellman Actor-Critic"; Haarnoja et al. 2018).
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from bayesbellman.core.types import Transition
from bayesbellman.envs.spaces import Box, Discrete, Spaces
from bayesbellman.nn.scaling import Scaling

Number = float | Float[Array, ""]
"""A setting that can be swept"""

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


def shown(
    key: Key[Array, ""], num_members: int, probability: float, index: Int[Array, " batch"]
) -> Float[Array, "L batch"]:
    """1 where a member is shown a transition, 0 where not: decided once for each, by its index."""
    if probability == 1:
        return jnp.ones((num_members, index.shape[0]))

    def one(i: Int[Array, ""]) -> Float[Array, " L"]:
        return jax.random.bernoulli(jax.random.fold_in(key, i), probability, (num_members,)).astype(float)

    return jax.vmap(one)(index).T


def continuous_sizes(spaces: Spaces) -> tuple[int, int]:
    """Of observations and actions; continuous ones only."""
    if not isinstance(spaces.action, Box):
        raise TypeError(
            f"actions are {spaces.action}; this agent's are continuous (a Box); BootDQN is for discrete ones"
        )
    return spaces.observation.size, spaces.action.size


def discrete_sizes(spaces: Spaces) -> tuple[int, int]:
    """Of observations, and how many actions there are."""
    if not isinstance(spaces.action, Discrete):
        raise TypeError(f"actions are {spaces.action}; this agent's are discrete; BBAC is for continuous ones (a Box)")
    return spaces.observation.size, spaces.action.number


def observation_scaling(spaces: Spaces, wanted: bool) -> Scaling:
    """From the space's bounds, or one that changes nothing."""
    space = spaces.observation
    low, high = (jnp.asarray(bound, dtype=float) for bound in (space.low, space.high))
    if wanted and not space.one_hot:
        return Scaling(low, high)
    return Scaling(jnp.full_like(low, -jnp.inf), jnp.full_like(high, jnp.inf))


def scaled(batch: Transition, scaling: Callable[[Array], Any]) -> Transition:
    """The batch as the networks see it."""
    return Transition(
        scaling(batch.observation),
        batch.action,
        batch.reward,
        batch.discount,
        scaling(batch.next_observation),
        batch.weight,
    )
