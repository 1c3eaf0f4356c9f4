"""Bellman residual minimisation: least squares for ``d^T omega = r``, ``d = v - gamma v'``. After Dann et al. (2014).

It minimises the Bellman error of single samples, which is biased where successors are random (the double-sampling
problem).
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from bayesbellman.core.linalg import sherman_morrison, woodbury_gain
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.blocks import FROM_FEATURES, update_inverse
from bayesbellman.evaluation.summed_system import SummedSystem, empty_system


class BRMState(eqx.Module):
    """``(I/epsilon + sum w d d^T)^-1`` and ``sum w d r``."""

    inverse: Float[Array, "n n"]
    rhs: Float[Array, " n"]

    @property
    def omega(self) -> Float[Array, " n"]:
        return self.inverse @ self.rhs


class BRM(AbstractEstimator[BRMState]):
    """Recursive, from ``C = prior_variance I``: one transition an update."""

    num_features: int = eqx.field(static=True)
    prior_variance: float | Float[Array, ""]
    """epsilon: the inverse of the ridge"""

    def init(self, key: Key[Array, ""]) -> BRMState:
        return BRMState(self.prior_variance * jnp.eye(self.num_features), jnp.zeros(self.num_features))

    def begin_episode(self, state: BRMState) -> BRMState:
        return state

    def update(self, key: Key[Array, ""], state: BRMState, transition: Transition) -> tuple[BRMState, Metrics]:
        residual = transition.observation - transition.discount * transition.next_observation
        weighted = transition.weight * residual
        updated = BRMState(
            sherman_morrison(state.inverse, weighted, residual), state.rhs + weighted * transition.reward
        )
        return updated, {}

    def absorb(
        self, key: Key[Array, ""], state: BRMState, transitions: Transition, restarts: Bool[Array, " N"]
    ) -> BRMState:
        if transitions.observation.shape[1] < FROM_FEATURES:
            return super().absorb(key, state, transitions, restarts)
        residual = transitions.observation - transitions.discount[:, None] * transitions.next_observation
        weighted = transitions.weight[:, None] * residual
        return BRMState(update_inverse(state.inverse, weighted, residual), state.rhs + transitions.reward @ weighted)

    def value(self, state: BRMState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega


class BatchBRM(AbstractEstimator[SummedSystem]):
    """Without a regulariser: one transition an update, one pseudo-inverse a question."""

    num_features: int = eqx.field(static=True)

    def init(self, key: Key[Array, ""]) -> SummedSystem:
        return empty_system(self.num_features)

    def begin_episode(self, state: SummedSystem) -> SummedSystem:
        return state

    def update(self, key: Key[Array, ""], state: SummedSystem, transition: Transition) -> tuple[SummedSystem, Metrics]:
        residual = transition.observation - transition.discount * transition.next_observation
        weighted = transition.weight * residual
        updated = SummedSystem(
            state.matrix + weighted[:, None] * residual[None, :], state.rhs + weighted * transition.reward
        )
        return updated, {}

    def absorb(
        self, key: Key[Array, ""], state: SummedSystem, transitions: Transition, restarts: Bool[Array, " N"]
    ) -> SummedSystem:
        residual = transitions.observation - transitions.discount[:, None] * transitions.next_observation
        weighted = transitions.weight[:, None] * residual
        return SummedSystem(state.matrix + weighted.T @ residual, state.rhs + transitions.reward @ weighted)

    def value(self, state: SummedSystem, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega


class TraceBRMState(eqx.Module):
    """Algorithm 4 of Scherrer and Geist (2011): ``C``, omega, and the running sums of its trace."""

    inverse: Float[Array, "n n"]
    omega: Float[Array, " n"]
    residual_trace: Float[Array, " n"]
    reward_trace: Float[Array, ""]
    square: Float[Array, ""]
    decay: Float[Array, ""]
    """``lambda gamma w`` of the transition before"""


class TraceBRM(AbstractEstimator[TraceBRMState]):
    """BRM(lambda), recursive: least squares on residuals summed ahead.

    The residual of transition i is ``sum_{j>=i} (lambda gamma)^(j-i) (d_j^T omega - r_j)``. Used on-policy in the
    benchmark. On-policy, with ``lambda = 0``, it is `BRM`; off-policy the weights enter each residual and not the sum.
    """

    num_features: int = eqx.field(static=True)
    prior_variance: float | Float[Array, ""]
    """epsilon: the inverse of the ridge"""
    trace_decay: float | Float[Array, ""]
    """lambda"""
    as_published: bool = eqx.field(static=True, default=False)
    """The benchmark drops a trace by setting it to 1 in every entry, not 0; it matters for a few steps."""

    def init(self, key: Key[Array, ""]) -> TraceBRMState:
        zeros, zero = jnp.zeros(self.num_features), jnp.zeros(())
        return TraceBRMState(self.prior_variance * jnp.eye(self.num_features), zeros, zeros, zero, zero, jnp.ones(()))

    def begin_episode(self, state: TraceBRMState) -> TraceBRMState:
        empty = jnp.ones_like if self.as_published else jnp.zeros_like
        return TraceBRMState(
            state.inverse,
            state.omega,
            empty(state.residual_trace),
            jnp.zeros_like(state.reward_trace),
            jnp.zeros_like(state.square),
            state.decay,
        )

    def update(
        self, key: Key[Array, ""], state: TraceBRMState, transition: Transition
    ) -> tuple[TraceBRMState, Metrics]:
        weight, reward = transition.weight, transition.weight * transition.reward
        residual = transition.observation - transition.discount * weight * transition.next_observation
        trace_decay = jnp.asarray(self.trace_decay, weight.dtype)
        # A square of 0 is the start of an episode: no transition before, whose weight then counts as 1.
        decay = jnp.where(state.square == 0, trace_decay * transition.discount, state.decay)
        square = decay**2 * state.square + 1
        root, share = jnp.sqrt(square), decay / jnp.sqrt(square)
        first, second = root * residual + share * state.residual_trace, share * state.residual_trace
        right = jnp.stack([first, -second])
        target = jnp.stack([root * reward + share * state.reward_trace, -share * state.reward_trace])
        gain = woodbury_gain(state.inverse, jnp.stack([first, second]), right)
        updated = TraceBRMState(
            inverse=state.inverse - gain @ (right @ state.inverse),
            omega=state.omega + gain @ (target - right @ state.omega),
            residual_trace=decay * state.residual_trace + square * residual,
            reward_trace=decay * state.reward_trace + square * reward,
            square=square,
            decay=trace_decay * transition.discount * weight,
        )
        return updated, {}

    def value(self, state: TraceBRMState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega
