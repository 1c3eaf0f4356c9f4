"""Linear BBO as one linear system (paper, appendix "Linear BBO", "Deriving the LSTD algorithm").

The fixed point ``omega* = phi_omega*`` solves ``D omega = chi`` with

    D   = sigma^2 Sigma_0^-1       + sum_i w_i v_i (v_i - gamma_i v'_i)^T
    chi = sigma^2 Sigma_0^-1 phi_0 + sum_i w_i v_i r_i

Transitions enter through three sums only, so two data sets merge by addition. Everything here takes NumPy or JAX
arrays.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from bayesbellman.core.types import AnyArray, Transition
from bayesbellman.posterior.conjugate import ConjugatePosterior, GaussianState


class LinearStatistics(eqx.Module):
    """All that linear BBO needs to know of a data set."""

    gram: Float[AnyArray, "n n"]
    """``sum_i w_i v_i v_i^T``"""
    cross: Float[AnyArray, "n n"]
    """``sum_i w_i gamma_i v_i v'_i^T``"""
    moment: Float[AnyArray, " n"]
    """``sum_i w_i v_i r_i``"""
    count: Float[AnyArray, ""]
    """N"""
    weight_sum: Float[AnyArray, ""]
    weight_square_sum: Float[AnyArray, ""]

    def __add__(self, other: "LinearStatistics") -> "LinearStatistics":
        """Statistics of both data sets together."""
        return jax.tree.map(lambda a, b: a + b, self, other)

    @property
    def effective_sample_size(self) -> Float[AnyArray, ""]:
        """Kish's ``(sum w)^2 / sum w^2``: N for equal weights, about 1 when one weight dominates, 0 without data."""
        xp = self.weight_sum.__array_namespace__()
        some = self.weight_square_sum > 0
        return xp.where(some, self.weight_sum**2 / xp.where(some, self.weight_square_sum, 1), 0)


def empty_statistics(num_features: int, dtype: np.dtype | type = np.float64) -> LinearStatistics:
    """Statistics of no transitions, as NumPy arrays."""
    matrix, zero = np.zeros((num_features, num_features), dtype), np.zeros((), dtype)
    return LinearStatistics(matrix, matrix, np.zeros(num_features, dtype), zero, zero, zero)


def linear_statistics(
    features: Float[AnyArray, "N n"],
    rewards: Float[AnyArray, " N"],
    next_features: Float[AnyArray, "N n"],
    discounts: Float[AnyArray, ""] | Float[AnyArray, " N"],
    weights: Float[AnyArray, " N"] | None = None,
) -> LinearStatistics:
    """Sums over one block of transitions, as matrix products.

    A scalar discount and absent weights are spared their pass over the block: the products then run on the caller's
    arrays, and ``v^T v`` of one array with itself costs half a product.
    """
    xp = features.__array_namespace__()
    count = xp.asarray(features.shape[0], dtype=features.dtype)
    weighted = features if weights is None else weights[:, None] * features
    gram = weighted.T @ features
    if discounts.ndim == 0:
        cross = discounts * (weighted.T @ next_features)
    else:
        cross = (discounts[:, None] * weighted).T @ next_features
    return LinearStatistics(
        gram=gram,
        cross=cross,
        moment=weighted.T @ rewards,
        count=count,
        weight_sum=count if weights is None else xp.asarray(weights.sum()),
        weight_square_sum=count if weights is None else xp.asarray((weights**2).sum()),
    )


def transition_statistics(transitions: Transition) -> LinearStatistics:
    """`linear_statistics` of a batch of transitions whose observations are feature vectors."""
    return linear_statistics(
        transitions.observation,
        transitions.reward,
        transitions.next_observation,
        transitions.discount,
        transitions.weight,
    )


def fixed_point_system(
    model: ConjugatePosterior, statistics: LinearStatistics
) -> tuple[Float[AnyArray, "n n"], Float[AnyArray, " n"]]:
    """``(D, chi)``, scaled by ``sigma^2`` as in the paper's Algorithm "Calculate omega*"."""
    prior = model.prior
    matrix = model.noise_variance * prior.precision + statistics.gram - statistics.cross
    rhs = model.noise_variance * prior.information + statistics.moment
    return matrix, rhs


def solve_fixed_point(model: ConjugatePosterior, statistics: LinearStatistics) -> Float[AnyArray, " n"]:
    """``omega* = D^-1 chi``."""
    matrix, rhs = fixed_point_system(model, statistics)
    return matrix.__array_namespace__().linalg.solve(matrix, rhs)


def posterior_given_omega(
    model: ConjugatePosterior, statistics: LinearStatistics, omega: Float[AnyArray, " n"]
) -> GaussianState:
    """``p(phi | D_omega)``. With linear ``Q_omega``, ``sum w v b = moment + cross omega``: omega enters here."""
    return model.condition(model.prior, statistics.gram, statistics.moment + statistics.cross @ omega)


def operator_jacobian(
    model: ConjugatePosterior, statistics: LinearStatistics, covariance: Float[AnyArray, "n n"]
) -> Float[AnyArray, "n n"]:
    """``d phi_omega / d omega = Sigma_N (sum w gamma v v'^T) / sigma^2``, the same for every omega.

    ``covariance`` is ``Sigma_N``. Where the spectral radius is below 1, iterating ``omega <- phi_omega`` converges;
    off-policy it need not be.
    """
    return covariance @ statistics.cross / model.noise_variance


def fixed_point_covariance(
    model: ConjugatePosterior, statistics: LinearStatistics, inverse: Float[AnyArray, "n n"]
) -> Float[AnyArray, "n n"]:
    """Covariance of the fixed point when the operator is drawn from its posterior; ``inverse`` is ``D^-1``.

    An operator drawn as ``phi_omega + e``, ``e ~ N(0, Sigma_N)``, has the fixed point ``omega* + (I - J)^-1 e`` with
    ``J`` the `operator_jacobian`, and ``I - J = Sigma_N D / sigma^2``. So the covariance is ``sigma^4 D^-1 Sigma_N^-1
    D^-T``. Not in the paper, whose posterior is over operators; this carries it on to the value function.
    """
    precision = model.prior_precision + statistics.gram / model.noise_variance
    scaled = model.noise_variance * inverse  # first, so that an extreme sigma^2 does not overflow as sigma^4
    return scaled @ precision @ scaled.T


def feature_second_moment(
    features: Float[AnyArray, "N n"], weights: Float[AnyArray, " N"] | None = None
) -> Float[AnyArray, "n n"]:
    """``E_rho,pi[v v^T]`` over a batch of features drawn from ``rho(s) pi(a|s)``; with importance weights, from
    ``rho(s) pi_e(a|s)``."""
    weighted = features if weights is None else weights[:, None] * features
    return weighted.T @ features / features.shape[0]


def as_jax(statistics: LinearStatistics) -> LinearStatistics:
    """The same statistics as JAX arrays of JAX's current precision."""
    return jax.tree.map(jnp.asarray, statistics)
