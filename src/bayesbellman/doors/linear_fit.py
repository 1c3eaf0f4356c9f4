"""What `LinearBBO` knows after data: the exact posterior at its fixed point, with what it leaves open."""

import math
from functools import cached_property

import numpy as np
from jaxtyping import Float

from bayesbellman.core.errors import JitterWarning, warn
from bayesbellman.core.linalg import (
    Solution,
    Spectrum,
    psd_spectrum,
    rank_tolerance,
    solve_with_rank,
    spectral_radius,
    symmetrise,
    unit_diagonal_scale,
)
from bayesbellman.evaluation.linear_system import (
    LinearStatistics,
    fixed_point_covariance,
    fixed_point_system,
    operator_jacobian,
    posterior_given_omega,
)
from bayesbellman.posterior.conjugate import ConjugatePosterior, GaussianState

WIDTHS = ("epistemic", "predictive", "value")


class Fit:
    """The posterior at the fixed point. Each part is computed from the statistics when it is first asked for."""

    def __init__(
        self,
        model: ConjugatePosterior,
        statistics: LinearStatistics,
        *,
        proper_policy: bool = False,
        undiscounted: bool = False,
    ) -> None:
        self.model = model
        self.statistics = statistics
        self.proper_policy = proper_policy
        """Whether discounts of 1 were allowed when the data were taken in."""
        self.undiscounted = undiscounted
        """Whether any were among them."""

    @cached_property
    def solution(self) -> Solution:
        """``omega*`` and how well the data determine it."""
        if self.undiscounted:
            self._refuse_improper_policy()
        matrix, rhs = fixed_point_system(self.model, self.statistics)
        precision = self.model.noise_variance * self.model.prior_precision + self.statistics.gram
        # D = precision - cross cannot have more rank than the precision: its rows are combinations of the features.
        return solve_with_rank(matrix, rhs, unit_diagonal_scale(precision), psd_spectrum(precision).rank)

    def _refuse_improper_policy(self) -> None:
        """With discounts of 1 the values exist only if the data's own operator, without any prior, contracts."""
        root = psd_spectrum(self.statistics.gram).inverse_root
        radius = spectral_radius(root @ root.T @ self.statistics.cross)
        if radius >= 1 - 1e-9:
            raise ValueError(
                f"discounts of 1 need a policy whose episodes end, but on these data the operator has spectral radius"
                f" {radius:.6g}, not below 1, so the values do not exist. Mark terminal transitions by a discount of 0,"
                " or discount"
            )

    @cached_property
    def posterior(self) -> GaussianState:
        """``p(phi | D_omega*)``."""
        return posterior_given_omega(self.model, self.statistics, self.solution.x)

    @cached_property
    def spectrum(self) -> Spectrum:
        """``Sigma_N`` by a root, and the directions of which the data and the prior say nothing."""
        return psd_spectrum(self.posterior.precision)

    @cached_property
    def covariance(self) -> Float[np.ndarray, "n n"]:
        """``Sigma_N``."""
        return self.spectrum.inverse_root @ self.spectrum.inverse_root.T

    @cached_property
    def mean(self) -> Float[np.ndarray, " n"]:
        """``phi_omega*``, by another road than ``omega*``: that they agree is the fixed point."""
        return self.spectrum.inverse_root @ (self.spectrum.inverse_root.T @ self.posterior.information)

    @cached_property
    def value_covariance(self) -> Float[np.ndarray, "n n"]:
        """Covariance of the fixed point under the posterior over operators."""
        return fixed_point_covariance(self.model, self.statistics, self.solution.inverse)

    @cached_property
    def spectral_radius(self) -> float:
        """Of ``omega -> phi_omega``."""
        return spectral_radius(operator_jacobian(self.model, self.statistics, self.covariance))

    def variance(self, features: Float[np.ndarray, "N n"], width: str) -> Float[np.ndarray, " N"]:
        """Variance at each row; infinite where nothing is known (see `LinearBBO.predict`).

        ``width`` is one of `WIDTHS`.
        """
        if width == "value":
            spread = np.sum((features @ self.value_covariance) * features, axis=1)
            return np.where(_reaches(features, self.solution.null), np.inf, np.maximum(spread, 0.0))
        epistemic = np.sum((features @ self.spectrum.inverse_root) ** 2, axis=1)
        noise = float(self.model.noise_variance) if width == "predictive" else 0.0
        return np.where(_reaches(features, self.spectrum.null), np.inf, epistemic + noise)


def _reaches(features: np.ndarray, null: np.ndarray) -> np.ndarray:
    """Which rows have a component in the directions of which nothing is known."""
    size = np.linalg.norm(features, axis=1)
    return np.linalg.norm(features @ null, axis=1) > math.sqrt(np.finfo(float).eps) * size


def precision_of(covariance: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """``Sigma_0^-1``; what is singular to rounding gets a jitter that is told, what is not positive is refused."""
    scale = unit_diagonal_scale(covariance)
    values, vectors = np.linalg.eigh(symmetrise(scale[:, None] * covariance * scale))
    tolerance = rank_tolerance(len(values)) * values[-1]
    if values[0] < -tolerance:
        raise ValueError(
            f"prior_covariance is not positive semi-definite: an eigenvalue, at unit variances, is {values[0]:.3g}"
        )
    if values[0] < tolerance:
        jitter = 10 * tolerance
        warn(
            f"prior_covariance is singular to rounding; {jitter:.3g} times each variance was added to its diagonal",
            JitterWarning,
        )
        values = values + jitter
    root = scale[:, None] * (vectors / np.sqrt(values))
    return root @ root.T
