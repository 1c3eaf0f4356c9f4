"""Empirical Bellman functions ``b_omega(s', a', s, a)`` and the push-forward that turns experience into ``D_omega``.

The formulas are written once, for one transition (paper, section "Bayesian Bellman Operators"). Networks take whole
batches, and so do Bellman functions: they value a batch of successors, then apply the formula to each transition.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from bayesbellman.core.types import BellmanSamples, Transition

Scalar = Float[Array, ""]


def expected_target(reward: Scalar, discount: Scalar, next_value: Scalar) -> Scalar:
    """``r + gamma Q(s', a')``, ``a' ~ pi``: policy evaluation and actor-critic (paper, eq. `bellman_approx`)."""
    return reward + discount * next_value


def greedy_target(reward: Scalar, discount: Scalar, next_values: Float[Array, " actions"]) -> Scalar:
    """``r + gamma max_a' Q(s', a')``: BootDQN+Prior (paper, section "Bayesian Bellman Actor-Critic")."""
    return expected_target(reward, discount, jnp.max(next_values))


def soft_target(
    reward: Scalar,
    discount: Scalar,
    next_values: Float[Array, " critics"],
    log_prob: Scalar,
    temperature: Scalar,
) -> Scalar:
    """``r + gamma (min_j Q_j(s', a') - alpha log pi(a'|s'))``: the SAC baseline, not part of BBO."""
    return expected_target(reward, discount, jnp.min(next_values) - temperature * log_prob)


@runtime_checkable
class EmpiricalBellman(Protocol):
    """``b_omega`` of transitions. Only this needs omega; whoever calls it has made data that depend on omega."""

    def __call__(self, omega: PyTree, transitions: Transition, next_actions: PyTree) -> Float[Array, " batch"]: ...


class ExpectedBellman(eqx.Module):
    """`expected_target` with ``Q_omega(s', a') = value(omega, s', a')``, a number for each of a batch."""

    value: Callable[[Any, Any, Any], Array]

    def __call__(self, omega: PyTree, transitions: Transition, next_actions: PyTree) -> Float[Array, " batch"]:
        next_values = self.value(omega, transitions.next_observation, next_actions)
        return jax.vmap(expected_target)(transitions.reward, transitions.discount, next_values)


class GreedyBellman(eqx.Module):
    """`greedy_target` with ``value(omega, s')`` a row of action values for each; ``next_actions`` are not used."""

    value: Callable[[Any, Any], Array]

    def __call__(self, omega: PyTree, transitions: Transition, next_actions: PyTree) -> Float[Array, " batch"]:
        next_values = self.value(omega, transitions.next_observation)
        return jax.vmap(greedy_target)(transitions.reward, transitions.discount, next_values)


class SampledAction(NamedTuple):
    """An action drawn from a policy, or a batch of them, with its log-density."""

    action: PyTree
    log_prob: Array


class SoftBellman(eqx.Module):
    """`soft_target` with ``value(omega, s', a')`` a row of critics for each; ``next_actions`` are a `SampledAction`."""

    value: Callable[[Any, Any, Any], Array]
    temperature: Array

    def __call__(self, omega: PyTree, transitions: Transition, next_actions: SampledAction) -> Float[Array, " batch"]:
        next_values = self.value(omega, transitions.next_observation, next_actions.action)
        return jax.vmap(soft_target, (0, 0, 0, 0, None))(
            transitions.reward, transitions.discount, next_values, next_actions.log_prob, self.temperature
        )


def pushforward(
    bellman: EmpiricalBellman,
    omega: PyTree,
    transitions: Transition,
    next_actions: PyTree = None,
    index: Int[Array, " batch"] | None = None,
) -> BellmanSamples:
    """``D_omega = {(b_i, s_i, a_i)}`` from a batch of transitions (paper, eq. `pushforward`).

    ``next_actions`` are draws ``a' ~ pi(.|s')`` where the Bellman function asks for them. The inputs are pairs
    ``(s, a)``, or observations alone where the transitions carry no action. ``index`` tells the data apart.
    """
    targets = bellman(omega, transitions, next_actions)
    has_actions = bool(jax.tree.leaves(transitions.action))
    inputs = (transitions.observation, transitions.action) if has_actions else transitions.observation
    return BellmanSamples(inputs=inputs, targets=targets, weights=transitions.weight, index=index)
