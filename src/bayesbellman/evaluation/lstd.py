"""Least-squares temporal differences: with a prior and traces (LSTD+), and plain (LSTD). After Dann et al. (2014).

LSTD+ without a trace and with its weight on everything *is* linear BBO with the same prior; a test holds them together.
"""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bayesbellman.core.linalg import sherman_morrison
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.summed_system import SummedSystem, empty_system

Weighting = Literal["everything", "successor"]
"""Where the importance weight enters: ``w v (v - gamma v')^T`` or ``v (v - gamma w v')^T``; in both, ``w v r``."""


class LSTDPlusState(eqx.Module):
    """Inverse of the regularised system, omega, and the trace that the next step inherits."""

    inverse: Float[Array, "n n"]
    omega: Float[Array, " n"]
    inherited: Float[Array, " n"]


class LSTDPlus(AbstractEstimator[LSTDPlusState]):
    """Recursive LSTD(lambda) from ``C = prior_variance I``: one transition an update."""

    num_features: int = eqx.field(static=True)
    prior_variance: float | Float[Array, ""]
    """epsilon: the inverse of the ridge"""
    trace_decay: float | Float[Array, ""] = 0.0
    """lambda"""
    weighting: Weighting = eqx.field(static=True, default="everything")

    def init(self, key: Key[Array, ""]) -> LSTDPlusState:
        zeros = jnp.zeros(self.num_features)
        return LSTDPlusState(self.prior_variance * jnp.eye(self.num_features), zeros, zeros)

    def begin_episode(self, state: LSTDPlusState) -> LSTDPlusState:
        return LSTDPlusState(state.inverse, state.omega, jnp.zeros_like(state.inherited))

    def update(
        self, key: Key[Array, ""], state: LSTDPlusState, transition: Transition
    ) -> tuple[LSTDPlusState, Metrics]:
        v_t, v_tp1, weight = transition.observation, transition.next_observation, transition.weight
        trace = v_t + state.inherited
        if self.weighting == "everything":
            gain_trace, gap, reward = weight * trace, v_t - transition.discount * v_tp1, transition.reward
        else:
            gain_trace, gap = trace, v_t - transition.discount * weight * v_tp1
            reward = weight * transition.reward
        direction = state.inverse @ gain_trace
        gain = direction / (1 + gap @ direction)
        decay = jnp.asarray(self.trace_decay, trace.dtype) * transition.discount * weight
        updated = LSTDPlusState(
            inverse=sherman_morrison(state.inverse, gain_trace, gap),
            omega=state.omega + gain * (reward - gap @ state.omega),
            inherited=decay * trace,
        )
        return updated, {}

    def value(self, state: LSTDPlusState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega


class LSTD(AbstractEstimator[SummedSystem]):
    """Plain LSTD(0), no regulariser: one transition an update, one pseudo-inverse a question.

    With the weight on everything it is linear BBO with the uninformative prior. The benchmark's LSTD puts it on the
    successor and the reward alone (``"successor"``), which is another estimator off-policy and there a poor one.
    """

    num_features: int = eqx.field(static=True)
    weighting: Weighting = eqx.field(static=True, default="everything")

    def init(self, key: Key[Array, ""]) -> SummedSystem:
        return empty_system(self.num_features)

    def begin_episode(self, state: SummedSystem) -> SummedSystem:
        return state

    def update(self, key: Key[Array, ""], state: SummedSystem, transition: Transition) -> tuple[SummedSystem, Metrics]:
        v_t, weight = transition.observation, transition.weight
        on_features = weight if self.weighting == "everything" else jnp.ones_like(weight)
        row = on_features * v_t - transition.discount * weight * transition.next_observation
        updated = SummedSystem(state.matrix + v_t[:, None] * row[None, :], state.rhs + weight * transition.reward * v_t)
        return updated, {}

    def value(self, state: SummedSystem, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega
