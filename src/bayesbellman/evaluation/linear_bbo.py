"""Linear BBO, transition by transition and block by block (paper, appendix "Linear BBO").

Three estimators with one answer: `RecursiveLinearBBO` (Sherman-Morrison, O(n^2) a transition), `BlockLinearBBO` (matrix
products, the fast one for data at hand) and `UninformativeRecursiveLinearBBO` (the recursion without a prior: LSTD).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bayesbellman.core.linalg import sherman_morrison
from bayesbellman.core.types import Metrics, Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.blocks import FROM_FEATURES, update_inverse
from bayesbellman.evaluation.linear_system import (
    LinearStatistics,
    as_jax,
    empty_statistics,
    solve_fixed_point,
    transition_statistics,
)
from bayesbellman.posterior.conjugate import ConjugatePosterior


class RecursionState(eqx.Module):
    """``D^-1`` and ``chi`` of the paper's Algorithm "Calculate omega*", and how many transitions they hold."""

    inverse: Float[Array, "n n"]
    chi: Float[Array, " n"]
    count: Int[Array, ""]

    @property
    def omega(self) -> Float[Array, " n"]:
        """``omega* = D^-1 chi``."""
        return self.inverse @ self.chi


def absorb(state: RecursionState, transition: Transition) -> RecursionState:
    """One pass of the algorithm's loop: ``D += w v (v - gamma v')^T`` in the inverse, ``chi += w v r``."""
    v_t, v_tp1 = transition.observation, transition.next_observation
    delta = transition.weight * (v_t - transition.discount * v_tp1)
    return RecursionState(
        inverse=sherman_morrison(state.inverse, v_t, delta),
        chi=state.chi + transition.weight * v_t * transition.reward,
        count=state.count + 1,
    )


class RecursiveLinearBBO(AbstractEstimator[RecursionState]):
    """Algorithm "Calculate omega*": one transition an update. The prior must be proper."""

    model: ConjugatePosterior

    def init(self, key: Key[Array, ""]) -> RecursionState:
        prior_precision = self.model.noise_variance * self.model.prior_precision
        return RecursionState(
            inverse=jnp.linalg.inv(prior_precision),
            chi=prior_precision @ self.model.prior_mean,
            count=jnp.zeros((), jnp.int32),
        )

    def begin_episode(self, state: RecursionState) -> RecursionState:
        return state

    def update(
        self, key: Key[Array, ""], state: RecursionState, transition: Transition
    ) -> tuple[RecursionState, Metrics]:
        return absorb(state, transition), {}

    def absorb(
        self, key: Key[Array, ""], state: RecursionState, transitions: Transition, restarts: Bool[Array, " N"]
    ) -> RecursionState:
        v_t, weight = transitions.observation, transitions.weight[:, None]
        if v_t.shape[1] < FROM_FEATURES:
            return super().absorb(key, state, transitions, restarts)
        delta = weight * (v_t - transitions.discount[:, None] * transitions.next_observation)
        return RecursionState(
            inverse=update_inverse(state.inverse, v_t, delta),
            chi=state.chi + transitions.reward @ (weight * v_t),
            count=state.count + v_t.shape[0],
        )

    def value(self, state: RecursionState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega


class UninformativeState(eqx.Module):
    """The recursion's state, and in which directions it still holds part of what it started from."""

    recursion: RecursionState
    pending: Bool[Array, " n"]

    @property
    def omega(self) -> Float[Array, " n"]:
        """``omega*``: LSTD's once nothing is pending."""
        return self.recursion.omega


class UninformativeRecursiveLinearBBO(AbstractEstimator[UninformativeState]):
    """Algorithm "Calculate omega* with Frequentist prior", its signs mended: LSTD, one transition an update.

    Starts from ``D = kappa I`` and takes ``kappa e_i e_i^T`` away again, one direction an update. The paper does so for
    direction ``i`` after transition ``i``, which makes ``D`` singular, for good, if the data have shown nothing along
    ``e_i`` by then. Here a direction waits until taking it away leaves enough:
    ``1 - kappa [D^-1]_ii >= removal_threshold``. **Numerically delicate** all the same: errors of early,
    ill-conditioned steps stay. `LinearBBO` with an infinite prior variance solves directly and checks the rank;
    prefer it unless the answer is needed at every transition.
    """

    num_features: int = eqx.field(static=True)
    kappa: float | Float[Array, ""] = 1.0
    """Precision it starts from; best about the size of one transition's ``v^2``."""
    removal_threshold: float | Float[Array, ""] = 0.01
    """Smaller removes earlier, and loses more digits by it."""

    def init(self, key: Key[Array, ""]) -> UninformativeState:
        start = RecursionState(
            inverse=jnp.eye(self.num_features) / self.kappa,
            chi=jnp.zeros(self.num_features),
            count=jnp.zeros((), jnp.int32),
        )
        return UninformativeState(start, pending=jnp.ones(self.num_features, dtype=bool))

    def begin_episode(self, state: UninformativeState) -> UninformativeState:
        return state

    def update(
        self, key: Key[Array, ""], state: UninformativeState, transition: Transition
    ) -> tuple[UninformativeState, Metrics]:
        absorbed = absorb(state.recursion, transition)
        kappa = jnp.asarray(self.kappa, absorbed.inverse.dtype)
        left_over = jnp.where(state.pending, 1 - kappa * jnp.diagonal(absorbed.inverse), -jnp.inf)
        chosen = jnp.argmax(left_over)
        removable = left_over[chosen] >= jnp.asarray(self.removal_threshold, left_over.dtype)
        unit = jax.nn.one_hot(chosen, self.num_features, dtype=absorbed.inverse.dtype)
        removed = sherman_morrison(absorbed.inverse, -kappa * unit, unit)
        recursion = RecursionState(jnp.where(removable, removed, absorbed.inverse), absorbed.chi, absorbed.count)
        pending = state.pending & ~(removable & (unit > 0))
        return UninformativeState(recursion, pending), {"pending": jnp.sum(pending)}

    def value(self, state: UninformativeState, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ state.omega


class BlockLinearBBO(AbstractEstimator[LinearStatistics]):
    """Linear BBO by sums of matrix products: a batch of transitions an update, one solve a question."""

    model: ConjugatePosterior

    def init(self, key: Key[Array, ""]) -> LinearStatistics:
        return as_jax(empty_statistics(self.model.prior_mean.shape[0], self.model.prior_mean.dtype))

    def begin_episode(self, state: LinearStatistics) -> LinearStatistics:
        return state

    def update(
        self, key: Key[Array, ""], state: LinearStatistics, transition: Transition
    ) -> tuple[LinearStatistics, Metrics]:
        updated = state + transition_statistics(transition)
        return updated, {"effective_sample_size": updated.effective_sample_size}

    def absorb(
        self, key: Key[Array, ""], state: LinearStatistics, transitions: Transition, restarts: Bool[Array, " N"]
    ) -> LinearStatistics:
        return self.update(key, state, transitions)[0]

    def value(self, state: LinearStatistics, inputs: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return inputs @ solve_fixed_point(self.model, state)
