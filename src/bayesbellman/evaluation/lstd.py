"""Least-squares temporal differences: with a prior and traces (LSTD+), and plain (LSTD). After Dann et al. (2014).

LSTD+ without a trace and with its weight on everything *is* linear BBO with the same prior; a test holds them together.
"""

from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from bayesbellman.core.linalg import sherman_morrison, woodbury_gain
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.blocks import FROM_FEATURES, in_blocks
from bayesbellman.evaluation.summed_system import SummedSystem, empty_system

Weighting = Literal["everything", "successor"]
"""Where the importance weight enters: ``w v (v - gamma v')^T`` or ``v (v - gamma w v')^T``; in both, ``w v r``."""


def _check_weighting(weighting: str) -> None:
    if weighting not in get_args(Weighting):
        raise ValueError(f"weighting is {weighting!r}; accepted are {', '.join(get_args(Weighting))}")


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

    def __check_init__(self) -> None:
        _check_weighting(self.weighting)

    def init(self, key: Key[Array, ""]) -> LSTDPlusState:
        zeros = jnp.zeros(self.num_features)
        return LSTDPlusState(self.prior_variance * jnp.eye(self.num_features), zeros, zeros)

    def begin_episode(self, state: LSTDPlusState) -> LSTDPlusState:
        return LSTDPlusState(state.inverse, state.omega, jnp.zeros_like(state.inherited))

    def _row(
        self, transition: Transition, trace: Float[Array, "*batch n"]
    ) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"], Float[Array, "*batch"]]:
        """``u``, ``d`` and ``b`` of what a transition adds to the system: ``u d^T omega = u b``."""
        v_t, v_tp1, weight = transition.observation, transition.next_observation, transition.weight
        discount = transition.discount
        if self.weighting == "everything":
            return weight[..., None] * trace, v_t - discount[..., None] * v_tp1, transition.reward
        return trace, v_t - (discount * weight)[..., None] * v_tp1, weight * transition.reward

    def _handed_on(self, transition: Transition, trace: Float[Array, " n"]) -> Float[Array, " n"]:
        """What the next step's trace inherits: ``lambda gamma w z``."""
        return jnp.asarray(self.trace_decay, trace.dtype) * transition.discount * transition.weight * trace

    def update(
        self, key: Key[Array, ""], state: LSTDPlusState, transition: Transition
    ) -> tuple[LSTDPlusState, Metrics]:
        trace = transition.observation + state.inherited
        u, gap, target = self._row(transition, trace)
        direction = state.inverse @ u
        gain = direction / (1 + gap @ direction)
        updated = LSTDPlusState(
            inverse=sherman_morrison(state.inverse, u, gap),
            omega=state.omega + gain * (target - gap @ state.omega),
            inherited=self._handed_on(transition, trace),
        )
        return updated, {}

    def absorb(
        self, key: Key[Array, ""], state: LSTDPlusState, transitions: Transition, restarts: Bool[Array, " N"]
    ) -> LSTDPlusState:
        if transitions.observation.shape[1] < FROM_FEATURES:
            return super().absorb(key, state, transitions, restarts)

        def trace_step(inherited: Array, inputs: tuple[Transition, Array]) -> tuple[Array, Array]:
            transition, restart = inputs
            trace = transition.observation + jnp.where(restart, jnp.zeros_like(inherited), inherited)
            return self._handed_on(transition, trace), trace

        inherited, traces = jax.lax.scan(trace_step, state.inherited, (transitions, restarts))

        def block_step(state: LSTDPlusState, block: tuple[Array, Array, Array]) -> tuple[LSTDPlusState, None]:
            u, gap, target = block
            gain = woodbury_gain(state.inverse, u, gap)
            omega = state.omega + gain @ (target - gap @ state.omega)
            return LSTDPlusState(state.inverse - gain @ (gap @ state.inverse), omega, state.inherited), None

        rows = jax.tree.map(in_blocks, self._row(transitions, traces))
        state = jax.lax.scan(block_step, state, rows)[0]
        return LSTDPlusState(state.inverse, state.omega, inherited)

    def value(self, state: LSTDPlusState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega


class LSTD(AbstractEstimator[SummedSystem]):
    """Plain LSTD(0), no regulariser: one transition an update, one pseudo-inverse a question.

    With the weight on everything it is linear BBO with the uninformative prior. The benchmark's LSTD puts it on the
    successor and the reward alone (``"successor"``), which is another estimator off-policy and there a poor one.
    """

    num_features: int = eqx.field(static=True)
    weighting: Weighting = eqx.field(static=True, default="everything")

    def __check_init__(self) -> None:
        _check_weighting(self.weighting)

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

    def absorb(
        self, key: Key[Array, ""], state: SummedSystem, transitions: Transition, restarts: Bool[Array, " N"]
    ) -> SummedSystem:
        v_t, weight = transitions.observation, transitions.weight[:, None]
        on_features = weight if self.weighting == "everything" else jnp.ones_like(weight)
        rows = on_features * v_t - transitions.discount[:, None] * weight * transitions.next_observation
        return SummedSystem(state.matrix + v_t.T @ rows, state.rhs + transitions.reward @ (weight * v_t))

    def value(self, state: SummedSystem, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega
