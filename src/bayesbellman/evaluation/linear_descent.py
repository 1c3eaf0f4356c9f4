"""Linear BBO by stochastic descent on the MSBBE, from two posterior samples a step (paper, eq. `msbbe_grad`)."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.core.timescales import AbstractSchedule, robbins_monro_fault
from bayesbellman.core.trees import project_to_ball
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.linear_system import (
    LinearStatistics,
    as_jax,
    empty_statistics,
    transition_statistics,
)
from bayesbellman.evaluation.objectives import sampled_linear_msbbe_gradient
from bayesbellman.posterior.conjugate import ConjugatePosterior


class DescentState(eqx.Module):
    """The statistics of all data so far, the current omega, and the number of steps taken."""

    statistics: LinearStatistics
    omega: Float[Array, " n"]
    step: Int[Array, ""]


class StochasticLinearBBO(AbstractEstimator[DescentState]):
    """Each update takes in a batch of transitions, then one stochastic gradient step at the batch's inputs.

    The exact estimators need no step size and no samples; this one shows that the MSBBE can be descended with samples
    of the operator alone, and is the pattern for posteriors that can only be sampled. Step sizes that break the
    Robbins-Monro conditions are refused unless ``allow_violation`` is set.
    """

    model: ConjugatePosterior
    step_size: AbstractSchedule
    radius: float | Float[Array, ""] = float("inf")
    """omega is projected onto a ball of this radius after each step."""
    allow_violation: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if not self.allow_violation and (fault := robbins_monro_fault(self.step_size)) is not None:
            raise ValueError(f"step_size: {fault}. Use PolynomialDecay(scale, 0.7), say, or pass allow_violation=True")

    def init(self, key: Key[Array, ""]) -> DescentState:
        prior_mean = jnp.asarray(self.model.prior_mean)
        statistics = as_jax(empty_statistics(prior_mean.shape[0], prior_mean.dtype))
        return DescentState(statistics, prior_mean, jnp.zeros((), jnp.int32))

    def begin_episode(self, state: DescentState) -> DescentState:
        return state

    def update(self, key: Key[Array, ""], state: DescentState, transition: Transition) -> tuple[DescentState, Metrics]:
        statistics = state.statistics + transition_statistics(transition)
        gradient = sampled_linear_msbbe_gradient(
            key, self.model, statistics, state.omega, transition.observation, weights=transition.weight
        )
        step = self.step_size(state.step).astype(state.omega.dtype)
        omega = project_to_ball(state.omega - step * gradient, self.radius)
        return DescentState(statistics, omega, state.step + 1), {"gradient_norm": jnp.linalg.norm(gradient)}

    def absorb(
        self, key: Key[Array, ""], state: DescentState, transitions: Transition, restarts: Bool[Array, " N"]
    ) -> DescentState:
        return self.update(key, state, transitions)[0]

    def value(self, state: DescentState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega
