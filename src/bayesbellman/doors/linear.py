"""`LinearBBO`: exact Bayesian policy evaluation with linear features, in scikit-learn's idiom and in float64."""

import inspect
import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import jax
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from bayesbellman.core.errors import JitterWarning, NotFittedError, RankDeficientWarning
from bayesbellman.core.linalg import (
    Solution,
    Spectrum,
    psd_spectrum,
    solve_with_rank,
    spectral_radius,
    unit_diagonal_scale,
)
from bayesbellman.doors import checks
from bayesbellman.evaluation.linear_system import (
    LinearStatistics,
    empty_statistics,
    fixed_point_covariance,
    fixed_point_system,
    linear_statistics,
    operator_jacobian,
    posterior_given_omega,
)
from bayesbellman.posterior.conjugate import ConjugatePosterior, GaussianState

Width = Literal["epistemic", "predictive", "value"]

BLOCK_NUMBERS = 2**19
"""Numbers per array in one block (4 MiB of float64): small enough for the cache, large enough for the matrix products."""


class Chunk(NamedTuple):
    """Checked transitions, still in the caller's arrays."""

    features: np.ndarray
    rewards: np.ndarray
    next_features: np.ndarray
    discounts: np.ndarray
    weights: np.ndarray | None

    def block(self, start: int, stop: int) -> "Chunk":
        """Rows ``start`` to ``stop`` in float64: the caller's memory where it already is, a copy of this block where not."""

        def rows(array: np.ndarray) -> np.ndarray:
            return np.asarray(array[start:stop] if array.ndim else array, dtype=np.float64)

        return Chunk(
            rows(self.features),
            rows(self.rewards),
            rows(self.next_features),
            rows(self.discounts),
            None if self.weights is None else rows(self.weights),
        )


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


class LinearBBO:
    """Bayesian policy evaluation with linear features: the exact posterior over Bellman operators and its fixed point.

    From transitions ``(v, r, v', gamma, w)``, with ``v`` the features of a state (or of a state and action) and ``v'`` those of
    its successor, this finds ``omega*`` such that ``Q_omega(s, a) = v^T omega`` equals the predictive mean of the posterior over
    Bellman operators inferred from the targets ``b = r + gamma v'^T omega`` (paper, appendix "Linear BBO"). Everything is
    float64, whatever JAX's precision, and exact: there is nothing to tune but the model.

    >>> import numpy as np
    >>> v, v_next = np.eye(3), np.roll(np.eye(3), -1, axis=0)
    >>> model = LinearBBO(prior_variance=100.0).fit(v, [0.0, 0.0, 1.0], v_next, 0.9)
    >>> value, std = model.predict(v, return_std=True)

    Parameters
    ----------
    prior_variance
        Each coefficient of an operator is ``N(0, prior_variance)`` beforehand. ``math.inf`` is the uninformative prior, and
        the answer then LSTD's. 10 is the paper's value on most of its linear tasks.
    noise_variance
        ``sigma^2``, the variance of a target ``b`` around its mean. It sets the width of the posterior, and the weight of the
        prior against the data.
    prior_mean
        ``phi_0``, a vector; zero if None.
    prior_covariance
        ``Sigma_0``, a matrix, in place of ``prior_variance``.
    proper_policy
        Say True where every episode ends under the policy; discounts of 1 are then accepted, and checked on the data.

    Attributes
    ----------
    omega_ : the coefficients of the value function, ``omega*``.
    posterior_mean_, posterior_covariance_ : ``phi_omega*`` (equal to ``omega*`` to rounding) and ``Sigma_N``.
    value_covariance_ : covariance of the fixed point when the operator is drawn from its posterior.
    effective_sample_size_ : ``(sum w)^2 / sum w^2``.
    condition_number_ : of the system solved for ``omega*``, features scaled to equal size; ``inf`` if it is singular.
    rank_ : how many directions of ``omega*`` the data and the prior determine.
    spectral_radius_ : of the map ``omega -> phi_omega``; where it is 1 or more, iterating the operator diverges.
    n_features_in_, n_samples_seen_ : size of the data.

    See ``docs/linear_evaluation.md`` for what the posterior is a posterior of, and how its widths are to be read.
    """

    def __init__(
        self,
        prior_variance: float = 10.0,
        noise_variance: float = 1.0,
        prior_mean: Any = None,
        prior_covariance: Any = None,
        proper_policy: bool = False,
    ) -> None:
        self.prior_variance = prior_variance
        self.noise_variance = noise_variance
        self.prior_mean = prior_mean
        self.prior_covariance = prior_covariance
        self.proper_policy = proper_policy
        self._check_parameters()

    # ------------------------------------------------------------------------------------------------- learning

    def fit(
        self, features: Any, rewards: Any, next_features: Any, discounts: Any, weights: Any = None
    ) -> Self:
        """Evaluate the policy on a whole data set, forgetting any earlier one.

        ``features`` and ``next_features`` are (N, n), ``rewards`` (N,), ``discounts`` a number or (N,): ``gamma``, and 0 where the
        transition ended the episode. ``weights`` are importance ratios ``pi(a|s) / pi_e(a|s)``, (N,). Memory beyond the
        arrays does not grow with N.
        """
        return self.fit_stream([(features, rewards, next_features, discounts, weights)])

    def fit_stream(self, chunks: Iterable[tuple]) -> Self:
        """`fit` for data that do not fit into memory: any iterable of ``(features, rewards, next_features, discounts, weights)``.

        The weights may be None or left off. One chunk is held at a time; the answer does not depend on the chunking.
        If a chunk is refused, the estimator is as it was before.
        """
        self._check_parameters()
        model, statistics, number = None, None, -1
        for number, chunk in enumerate(chunks):
            with _telling_which_chunk(number, chunks):
                checked = self._check_chunk(chunk, None if model is None else len(model.prior_mean))
                model = model or self._build_model(checked.features.shape[1])
                statistics = self._accumulate(checked, statistics)
        if model is None or statistics is None:
            raise ValueError("chunks is empty; pass at least one chunk, of zero transitions if there are none")
        checks.weights_not_all_zero(float(statistics.count), float(statistics.weight_sum))
        fitted = Fit(model, statistics)
        self._warn_or_refuse(fitted)
        self._fit = fitted
        return self

    def partial_fit(
        self, features: Any, rewards: Any, next_features: Any, discounts: Any, weights: Any = None
    ) -> Self:
        """Take in more transitions, one or many; the answer is that of `fit` on all of them together.

        Costs O(n^2) a transition; the system is solved when an answer is asked for. A first call on a new estimator
        starts from the prior. The model is fixed by the first call: `set_params` takes effect at the next `fit`.
        """
        before = getattr(self, "_fit", None)
        if before is None:
            self._check_parameters()
        checked = self._check_chunk(
            (features, rewards, next_features, discounts, weights),
            None if before is None else self.n_features_in_,
        )
        model = self._build_model(checked.features.shape[1]) if before is None else before.model
        statistics = self._accumulate(checked, None if before is None else before.statistics)
        self._fit = Fit(model, statistics)
        return self

    # ------------------------------------------------------------------------------------------------ answering

    def predict(self, features: Any, return_std: bool | Width = False) -> Any:
        """Values ``v^T omega*`` at the rows of ``features``; with ``return_std``, a pair ``(values, standard deviations)``.

        ``True`` or ``"epistemic"``: of the Bellman operator at that point, ``sqrt(v^T Sigma_N v)``. ``"predictive"``: of a new target
        ``b`` there, noise included. ``"value"``: of the value itself, the operator's uncertainty carried through to its
        fixed point. Where the data and the prior say nothing (only without a prior), the deviation is infinite.
        """
        fit = self._fitted()
        array = np.asarray(checks.real_array("features", features, ndim=(2,)), dtype=np.float64)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(f"features has {array.shape[1]} columns; the estimator was fitted on {self.n_features_in_}")
        if (found := checks.culprit("features", array, 0)) is not None:
            raise ValueError(found)
        values = array @ fit.solution.x
        if return_std is False:
            return values
        return values, np.sqrt(self._variance(fit, array, return_std))

    def sample(self, key: Key[Array, ""] | UInt32[Array, " 2"] | int, n: int = 1) -> Float[np.ndarray, "samples n"]:
        """Draw ``n`` Bellman operators from the posterior, as rows of coefficients phi (``features @ phi`` is ``B_phi``).

        ``key`` is a JAX random key or an integer seed. Directions of which nothing is known stay at zero.
        """
        fit = self._fitted()
        if n < 0:
            raise ValueError(f"n is {n}; accepted is a number of samples >= 0")
        root = fit.spectrum.inverse_root
        with jax.enable_x64(True):
            typed = jax.random.key(key) if isinstance(key, int) else key
            noise = np.asarray(jax.random.normal(typed, (n, root.shape[1]), dtype=np.float64))
        return fit.mean + noise @ root.T

    @property
    def omega_(self) -> Float[np.ndarray, " n"]:
        return self._fitted().solution.x

    @property
    def posterior_mean_(self) -> Float[np.ndarray, " n"]:
        return self._fitted().mean

    @property
    def posterior_covariance_(self) -> Float[np.ndarray, "n n"]:
        return self._fitted().covariance

    @property
    def value_covariance_(self) -> Float[np.ndarray, "n n"]:
        return self._fitted().value_covariance

    @property
    def effective_sample_size_(self) -> float:
        return float(self._fitted().statistics.effective_sample_size)

    @property
    def condition_number_(self) -> float:
        return self._fitted().solution.condition_number

    @property
    def rank_(self) -> int:
        return self.n_features_in_ - self._fitted().solution.null.shape[1]

    @property
    def spectral_radius_(self) -> float:
        return self._fitted().spectral_radius

    @property
    def n_features_in_(self) -> int:
        return len(self._fitted().model.prior_mean)

    @property
    def n_samples_seen_(self) -> int:
        return int(self._fitted().statistics.count)

    # --------------------------------------------------------------------------------- scikit-learn's conventions

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name, as they were given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments; a fitted estimator keeps its fit until the next `fit`."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise ValueError(f"LinearBBO has no parameter {name!r}; it has {', '.join(known)}")
        type(self)(**{**known, **params})  # refuses bad values before any is taken over
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fit")

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = (f"{k}={v!r}" for k, v in self.get_params().items() if v is not defaults[k].default)
        return f"{type(self).__name__}({', '.join(changed)})"

    # ------------------------------------------------------------------------------------------------- the inside

    def _fitted(self) -> Fit:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this LinearBBO has seen no data; call fit, partial_fit or fit_stream first")
        return self._fit

    def _check_parameters(self) -> None:
        variance = checks.positive_number("prior_variance", self.prior_variance, infinite=True)
        checks.positive_number("noise_variance", self.noise_variance)
        if self.prior_covariance is not None:
            checks.prior_covariance_matrix(self.prior_covariance)
        if self.prior_mean is not None:
            checks.finite_vector("prior_mean", self.prior_mean)
        if math.isinf(variance) and (self.prior_mean is not None or self.prior_covariance is not None):
            raise ValueError(
                "prior_variance=inf says that nothing is known beforehand, so prior_mean and prior_covariance must be None"
            )

    def _build_model(self, num_features: int) -> ConjugatePosterior:
        checks.fits_in_memory(num_features)
        if self.prior_covariance is None:
            precision = np.eye(num_features) / float(self.prior_variance)
        else:
            precision = _precision_of(checks.prior_covariance_matrix(self.prior_covariance))
        mean = np.zeros(num_features)
        if self.prior_mean is not None:
            mean = checks.finite_vector("prior_mean", self.prior_mean)
        for name, size in (("prior_mean", len(mean)), ("prior_covariance", len(precision))):
            if size != num_features:
                raise ValueError(f"{name} is for {size} features, but features has {num_features} columns")
        return ConjugatePosterior(mean, precision, np.asarray(self.noise_variance, dtype=np.float64))

    def _check_chunk(self, chunk: tuple, num_features: int | None) -> Chunk:
        if not 4 <= len(chunk) <= 5:
            raise ValueError(
                f"a chunk has {len(chunk)} parts; accepted is (features, rewards, next_features, discounts[, weights])"
            )
        features, rewards, next_features, discounts, weights = (*chunk, None)[:5]
        v = checks.real_array("features", features, ndim=(2,))
        r = checks.real_array("rewards", rewards, ndim=(1,))
        v_next = checks.real_array("next_features", next_features, ndim=(2,))
        gamma = checks.real_array("discounts", discounts, ndim=(0, 1))
        w = None if weights is None else checks.real_array("weights", weights, ndim=(1,))
        if v.shape[1] == 0:
            raise ValueError("features has no columns; accepted is shape (N, n) with n >= 1")
        if num_features is not None and v.shape[1] != num_features:
            raise ValueError(f"features has {v.shape[1]} columns, but the data before had {num_features}")
        if v_next.shape[1:] != v.shape[1:]:
            raise ValueError(f"next_features has {v_next.shape[1]} columns, but features has {v.shape[1]}")
        for name, array in (("rewards", r), ("next_features", v_next), ("discounts", gamma), ("weights", w)):
            if array is not None and array.ndim:
                checks.same_length(name, array, len(v))
        checks.discounts_in_range(gamma, proper_policy=self.proper_policy)
        if w is not None:
            checks.weights_in_range(w)
        return Chunk(v, r, v_next, gamma, w)

    def _accumulate(self, chunk: Chunk, statistics: LinearStatistics | None) -> LinearStatistics:
        num_rows, num_features = chunk.features.shape
        checks.fits_in_memory(num_features)
        total = empty_statistics(num_features) if statistics is None else statistics
        rows = max(BLOCK_NUMBERS // num_features, 1024)
        for start in range(0, num_rows, rows):
            block = chunk.block(start, start + rows)
            with np.errstate(all="ignore"):  # what overflows or is not finite is found below, and named
                total = total + linear_statistics(*block)
            if not _finite(total):
                raise ValueError(_what_is_not_finite(block, start))
        return total

    def _warn_or_refuse(self, fit: Fit) -> None:
        if fit.solution.null.shape[1]:
            n = len(fit.model.prior_mean)
            warnings.warn(
                f"the data determine {n - fit.solution.null.shape[1]} of {n} directions of omega (constant, collinear or zero"
                " features, or too few transitions); omega_ is the solution of least norm. A finite prior_variance"
                " makes the posterior proper",
                RankDeficientWarning,
                stacklevel=4,
            )
        elif self.proper_policy and fit.spectral_radius >= 1:
            raise ValueError(
                f"proper_policy=True, but on these data the operator has spectral radius {fit.spectral_radius:.6g} >= 1: with"
                " discounts of 1 the values do not exist. Mark terminal transitions by a discount of 0, or discount"
            )

    def _variance(self, fit: Fit, features: np.ndarray, width: bool | Width) -> np.ndarray:
        if width is True or width == "epistemic":
            variance, null = ((features @ fit.spectrum.inverse_root) ** 2).sum(axis=1), fit.spectrum.null
        elif width == "predictive":
            variance, null = self._variance(fit, features, True) + float(fit.model.noise_variance), fit.spectrum.null
        elif width == "value":
            spread = np.einsum("ij,jk,ik->i", features, fit.value_covariance, features, optimize=True)
            variance, null = np.maximum(spread, 0.0), fit.solution.null
        else:
            raise ValueError(
                f"return_std is {width!r}; accepted are False, True, 'epistemic', 'predictive' and 'value'"
            )
        return np.where(_reaches(features, null), np.inf, variance)


def _precision_of(covariance: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """``Sigma_0^-1``; what is singular to rounding gets a jitter that is told, what is not positive is refused."""
    scale = unit_diagonal_scale(covariance)
    correlation = scale[:, None] * covariance * scale
    values, vectors = np.linalg.eigh((correlation + correlation.T) / 2)
    tolerance = len(values) * np.finfo(float).eps * values[-1]
    if values[0] < -tolerance:
        raise ValueError(
            f"prior_covariance is not positive semi-definite: its smallest eigenvalue is {values[0]:.3g} of its scale"
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


def _finite(statistics: LinearStatistics) -> bool:
    return all(bool(np.isfinite(leaf).all()) for leaf in jax.tree.leaves(statistics))


def _what_is_not_finite(block: Chunk, first_row: int) -> str:
    """Products of a block with a nan or an infinity are not finite, so the block is searched only when they are not."""
    for name, array in block._asdict().items():
        if array is not None and (found := checks.culprit(name, array, first_row)) is not None:
            return f"{found}; drop or repair such transitions (the successor of a terminal one may be all zeros)"
    return "the sums of products of features and rewards overflow float64; scale the features or rewards down"


def _reaches(features: np.ndarray, null: np.ndarray) -> np.ndarray:
    """Which rows have a component in the directions of which nothing is known."""
    size = np.linalg.norm(features, axis=1)
    return np.linalg.norm(features @ null, axis=1) > math.sqrt(np.finfo(float).eps) * size


@contextmanager
def _telling_which_chunk(number: int, chunks: Iterable[tuple]) -> Iterator[None]:
    """Put the chunk's number in front of an error, unless there is but one."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(chunks, list) and len(chunks) == 1:
            raise
        raise type(error)(f"chunk {number}: {error}") from None
