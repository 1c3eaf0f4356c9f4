"""Temporal-difference learning with linear features: TD(lambda), GTD2, TDC (paper, appendix "Recovering TDC/GTD2").

``delta = r + gamma v'^T omega - v^T omega``. Hyper-parameters and exact forms follow the linear benchmark of Dann et
al. (2014), which the paper's linear tables use. A trace is dropped where an episode begins (`begin_episode`).
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.core.timescales import AbstractSchedule
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.evaluation.base import AbstractEstimator


def td_error(transition: Transition, omega: Float[Array, " n"]) -> Float[Array, ""]:
    """``delta = r + gamma v'^T omega - v^T omega``."""
    value, next_value = transition.observation @ omega, transition.next_observation @ omega
    return transition.reward + transition.discount * next_value - value


class TDState(eqx.Module):
    """omega, and the part of the eligibility trace that the next step inherits: ``lambda gamma_t z_t``."""

    omega: Float[Array, " n"]
    inherited: Float[Array, " n"]
    fresh: Bool[Array, ""]
    """No step since the episode began."""
    step: Int[Array, ""]
    smallest: Float[Array, ""]
    """Smallest step size so far; only `DabneyStep` uses it."""


class DabneyStep(eqx.Module):
    """Dabney and Barto (2012): ``alpha_t = min(alpha_{t-1}, 1 / |z^T (gamma v' - v)|)``, starting from 1."""


class TD(AbstractEstimator[TDState]):
    """``omega += alpha delta z`` with the trace ``z = w (v + lambda gamma z)``: one transition an update."""

    num_features: int = eqx.field(static=True)
    step_size: AbstractSchedule | DabneyStep
    trace_decay: float | Float[Array, ""] = 0.0
    """lambda"""
    as_published: bool = eqx.field(static=True, default=False)
    """The benchmark's first trace of an episode is ``v``, not ``w v``: the first weight is ignored."""

    def init(self, key: Key[Array, ""]) -> TDState:
        zeros = jnp.zeros(self.num_features)
        return TDState(zeros, zeros, jnp.asarray(True), jnp.zeros((), jnp.int32), jnp.ones(()))

    def begin_episode(self, state: TDState) -> TDState:
        return TDState(
            state.omega, jnp.zeros_like(state.inherited), jnp.ones_like(state.fresh), state.step, state.smallest
        )

    def update(self, key: Key[Array, ""], state: TDState, transition: Transition) -> tuple[TDState, Metrics]:
        v_t, v_tp1 = transition.observation, transition.next_observation
        weight = transition.weight
        if self.as_published:
            weight = jnp.where(state.fresh, jnp.ones_like(weight), weight)
        trace = weight * (v_t + state.inherited)
        delta = td_error(transition, state.omega)
        if isinstance(self.step_size, DabneyStep):
            size = jnp.abs(trace @ (transition.discount * v_tp1 - v_t))
            alpha = jnp.minimum(state.smallest, 1 / size)  # 1/0 is inf, and then the step before stays
        else:
            alpha = self.step_size(state.step).astype(state.omega.dtype)
        decay = jnp.asarray(self.trace_decay, state.omega.dtype) * transition.discount
        updated = TDState(
            omega=state.omega + alpha * delta * trace,
            inherited=decay * trace,
            fresh=jnp.zeros_like(state.fresh),
            step=state.step + 1,
            smallest=jnp.minimum(state.smallest, alpha),
        )
        return updated, {"td_error": delta}

    def value(self, state: TDState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega


class GradientTDState(eqx.Module):
    """omega, the auxiliary weights ``zeta ~ E[v v^T]^-1 E[v delta]``, and the trace that the next step inherits."""

    omega: Float[Array, " n"]
    zeta: Float[Array, " n"]
    inherited: Float[Array, " n"]


def _start(num_features: int) -> GradientTDState:
    zeros = jnp.zeros(num_features)
    return GradientTDState(zeros, zeros, zeros)


def _drop_trace(state: GradientTDState) -> GradientTDState:
    return GradientTDState(state.omega, state.zeta, jnp.zeros_like(state.inherited))


class GTD2(AbstractEstimator[GradientTDState]):
    """``omega += alpha w (v - gamma v') (v^T zeta)``, ``zeta += mu alpha (w delta - v^T zeta) v`` (Sutton et al. 2009).

    The paper's text puts zeta on the slower timescale; in theory it moves on the faster one, ``mu > 1``. The
    benchmark's values of ``mu`` go both ways.
    """

    num_features: int = eqx.field(static=True)
    step_size: float | Float[Array, ""]
    """alpha"""
    step_ratio: float | Float[Array, ""]
    """mu: step size of zeta over that of omega"""

    def init(self, key: Key[Array, ""]) -> GradientTDState:
        return _start(self.num_features)

    def begin_episode(self, state: GradientTDState) -> GradientTDState:
        return state

    def update(
        self, key: Key[Array, ""], state: GradientTDState, transition: Transition
    ) -> tuple[GradientTDState, Metrics]:
        v_t, v_tp1, weight = transition.observation, transition.next_observation, transition.weight
        alpha = jnp.asarray(self.step_size, state.omega.dtype)
        beta = jnp.asarray(self.step_ratio, state.omega.dtype) * alpha
        delta, projected = td_error(transition, state.omega), v_t @ state.zeta
        updated = GradientTDState(
            omega=state.omega + alpha * weight * projected * (v_t - transition.discount * v_tp1),
            zeta=state.zeta + beta * (weight * delta - projected) * v_t,
            inherited=state.inherited,
        )
        return updated, {"td_error": delta}

    def value(self, state: GradientTDState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega


class TDC(AbstractEstimator[GradientTDState]):
    """TD with gradient correction, with a trace ``z = w (v + lambda gamma z)`` (Maei 2011).

    ``omega += alpha (delta z - gamma (1 - lambda) (z^T zeta) v')``, ``zeta += mu alpha (delta z - (v^T zeta) v)``. With
    ``weight_zeta`` (the benchmark's "TDC-TO") the last term is ``w (v^T zeta) v``, so that the weight is on everything.
    """

    num_features: int = eqx.field(static=True)
    step_size: float | Float[Array, ""]
    """alpha"""
    step_ratio: float | Float[Array, ""]
    """mu: step size of zeta over that of omega"""
    trace_decay: float | Float[Array, ""] = 0.0
    """lambda"""
    weight_zeta: bool = eqx.field(static=True, default=False)

    def init(self, key: Key[Array, ""]) -> GradientTDState:
        return _start(self.num_features)

    def begin_episode(self, state: GradientTDState) -> GradientTDState:
        return _drop_trace(state)

    def update(
        self, key: Key[Array, ""], state: GradientTDState, transition: Transition
    ) -> tuple[GradientTDState, Metrics]:
        v_t, v_tp1, weight = transition.observation, transition.next_observation, transition.weight
        dtype = state.omega.dtype
        alpha, decay = jnp.asarray(self.step_size, dtype), jnp.asarray(self.trace_decay, dtype)
        beta = jnp.asarray(self.step_ratio, dtype) * alpha
        delta, trace = td_error(transition, state.omega), weight * (v_t + state.inherited)
        correction = transition.discount * (1 - decay) * (trace @ state.zeta) * v_tp1
        pull = (weight if self.weight_zeta else jnp.ones_like(weight)) * (v_t @ state.zeta) * v_t
        updated = GradientTDState(
            omega=state.omega + alpha * (delta * trace - correction),
            zeta=state.zeta + beta * (delta * trace - pull),
            inherited=decay * transition.discount * trace,
        )
        return updated, {"td_error": delta}

    def value(self, state: GradientTDState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega
