"""What `LinearBBO` knows after data: the exact posterior at its fixed point, with what it leaves open."""

import math
import warnings
from functools import cached_property

import numpy as np
from jaxtyping import Float

from bayesbellman.core.errors import JitterWarning
from bayesbellman.core.linalg import (
    Solution,
    Spectrum,
    psd_spectrum,
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

    def __init__(self, model: ConjugatePosterior, statistics: LinearStatistics) -> None:
        self.model = model
        self.statistics = statistics

    @cached_property
    def solution(self) -> Solution:
        """``omega*`` and how well the data determine it."""
        matrix, rhs = fixed_point_system(self.model, self.statistics)
        size = self.model.noise_variance * self.model.prior_precision + self.statistics.gram
        return solve_with_rank(matrix, rhs, unit_diagonal_scale(size))

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
        """``phi_omega*``, by another way than ``omega*``: that they agree is the fixed point."""
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
    tolerance = len(values) * np.finfo(float).eps * values[-1]
    if values[0] < -tolerance:
        raise ValueError(
            f"prior_covariance is not positive semi-definite: an eigenvalue, at unit variances, is {values[0]:.3g}"
        )
    if values[0] < tolerance:
        jitter = 10 * tolerance
        warnings.warn(
            f"prior_covariance is singular to rounding; {jitter:.3g} times each variance was added to its diagonal",
            JitterWarning,
            stacklevel=5,
        )
        values = values + jitter
    root = scale[:, None] * (vectors / np.sqrt(values))
    return root @ root.T
