"""Empirical Bellman functions ``b_omega(s', a', s, a)`` and the push-forward that turns experience into ``D_omega``.

The formulas are written once, for one transition (paper, section "Bayesian Bellman Operators"); batching is
`pushforward`'s.
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
    """``b_omega`` for one transition. Only this needs omega; whoever calls it has made data that depend on omega."""

    def __call__(self, omega: PyTree, transition: Transition, next_action: PyTree) -> Scalar: ...


class ExpectedBellman(eqx.Module):
    """`expected_target` with ``Q_omega(s', a') = value(omega, s', a')``."""

    value: Callable[[Any, Any, Any], Array]

    def __call__(self, omega: PyTree, transition: Transition, next_action: PyTree) -> Scalar:
        next_value = self.value(omega, transition.next_observation, next_action)
        return expected_target(transition.reward, transition.discount, next_value)


class GreedyBellman(eqx.Module):
    """`greedy_target` with ``value(omega, s')`` the vector of action values; ``next_action`` is not used."""

    value: Callable[[Any, Any], Array]

    def __call__(self, omega: PyTree, transition: Transition, next_action: PyTree) -> Scalar:
        next_values = self.value(omega, transition.next_observation)
        return greedy_target(transition.reward, transition.discount, next_values)


class SampledAction(NamedTuple):
    """An action drawn from a policy, with its log-density."""

    action: PyTree
    log_prob: Array


class SoftBellman(eqx.Module):
    """`soft_target` with ``value(omega, s', a')`` the vector of critics; ``next_action`` is a `SampledAction`."""

    value: Callable[[Any, Any, Any], Array]
    temperature: Array

    def __call__(self, omega: PyTree, transition: Transition, next_action: SampledAction) -> Scalar:
        next_values = self.value(omega, transition.next_observation, next_action.action)
        return soft_target(transition.reward, transition.discount, next_values, next_action.log_prob, self.temperature)


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
    targets = jax.vmap(lambda transition, next_action: bellman(omega, transition, next_action))(
        transitions, next_actions
    )
    has_actions = bool(jax.tree.leaves(transitions.action))
    inputs = (transitions.observation, transitions.action) if has_actions else transitions.observation
    return BellmanSamples(inputs=inputs, targets=targets, weights=transitions.weight, index=index)
