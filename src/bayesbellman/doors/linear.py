"""`LinearBBO`: exact Bayesian policy evaluation with linear features, in scikit-learn's idiom and in float64."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from bayesbellman.core.errors import NotFittedError, RankDeficientWarning, warn
from bayesbellman.doors import checks
from bayesbellman.doors.linear_fit import WIDTHS, Fit, precision_of
from bayesbellman.doors.params import Parameters
from bayesbellman.doors.transitions import accumulate, check_chunk
from bayesbellman.evaluation.linear_system import empty_statistics
from bayesbellman.posterior.conjugate import ConjugatePosterior


class LinearBBO(Parameters):
    """Bayesian policy evaluation with linear features: the exact posterior over Bellman operators and its fixed point.

    From transitions ``(v, r, v', gamma, w)``, with ``v`` the features of a state (or of a state and action) and
    ``v'`` those of its successor, this finds ``omega*`` such that ``Q_omega(s, a) = v^T omega`` equals the predictive
    mean of the posterior over Bellman operators inferred from the targets ``b = r + gamma v'^T omega`` (paper,
    appendix "Linear BBO"). Everything is float64, whatever JAX's precision, and exact: there is nothing to tune but
    the model.

    >>> import numpy as np
    >>> v, v_next = np.eye(3), np.roll(np.eye(3), -1, axis=0)
    >>> model = LinearBBO(prior_variance=100.0).fit(v, [0.0, 0.0, 1.0], v_next, 0.9)
    >>> value, std = model.predict(v, return_std=True)

    Parameters
    ----------
    prior_variance
        Each coefficient of an operator is ``N(0, prior_variance)`` beforehand. ``math.inf`` is the uninformative
        prior, and the answer then LSTD's. 10 is the paper's value on most of its linear tasks.
    noise_variance
        ``sigma^2``, the variance of a target ``b`` around its mean. It sets the width of the posterior, and the
        weight of the prior against the data.
    prior_mean
        ``phi_0``, a vector; zero if None.
    prior_covariance
        ``Sigma_0``, a matrix, in place of ``prior_variance``.
    proper_policy
        Say True where every episode ends under the policy; discounts of 1 are then accepted, and checked on the data.

    Attributes
    ----------
    omega_
        The coefficients of the value function, ``omega*``.
    posterior_mean_, posterior_covariance_
        ``phi_omega*`` (equal to ``omega*`` to rounding where the rank is full) and ``Sigma_N`` (on the directions
        that the data and the prior determine).
    value_covariance_
        Covariance of the fixed point when the operator is drawn from its posterior.
    effective_sample_size_
        ``(sum w)^2 / sum w^2``.
    condition_number_
        Of the system solved for ``omega*``, features scaled to equal size; ``inf`` if it is singular to rounding.
    rank_
        How many directions of ``omega*`` the data and the prior determine.
    spectral_radius_
        Of the map ``omega -> phi_omega``; where it is 1 or more, iterating the operator diverges.
    n_features_in_, n_samples_seen_
        Size of the data.

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
        self._fit: Fit | None = None
        self._check_parameters()

    # ------------------------------------------------------------------------------------------------- learning

    def fit(self, features: Any, rewards: Any, next_features: Any, discounts: Any, weights: Any = None) -> "LinearBBO":
        """Evaluate the policy on a whole data set, forgetting any earlier one.

        ``features`` and ``next_features`` are (N, n), ``rewards`` (N,), ``discounts`` a number or (N,): ``gamma``,
        and 0 where the transition ended the episode. ``weights`` are importance ratios ``pi(a|s) / pi_e(a|s)``, (N,).
        Memory beyond the arrays does not grow with N.
        """
        return self._learn([(features, rewards, next_features, discounts, weights)])

    def fit_stream(self, chunks: Iterable[tuple]) -> "LinearBBO":
        """`fit` for data that do not fit into memory: any iterable of chunks, each the arguments of `fit` as a tuple.

        ``(features, rewards, next_features, discounts, weights)``; the weights may be None or left off. One
        chunk is held at a time; the answer does not depend on the chunking. If a chunk is refused, the estimator is as
        it was before.
        """
        if not isinstance(chunks, Iterable):
            raise TypeError(f"chunks is {type(chunks).__name__}; accepted is an iterable of tuples")
        return self._learn(chunks)

    def partial_fit(
        self, features: Any, rewards: Any, next_features: Any, discounts: Any, weights: Any = None
    ) -> "LinearBBO":
        """Take in more transitions, one or many; the answer is that of `fit` on all of them together.

        Costs O(n^2) a transition; the system is solved when an answer is asked for. A first call on a new estimator
        starts from the prior. The model is fixed by the first call: `set_params` takes effect at the next `fit`.
        Data that do not determine omega yet are no cause for a warning here; ``rank_`` tells.
        """
        self._fit = self._take_in(self._fit, (features, rewards, next_features, discounts, weights))
        return self

    # ------------------------------------------------------------------------------------------------ answering

    def predict(self, features: Any, return_std: bool | str = False) -> Any:
        """Values ``v^T omega*`` at the rows of ``features``; with ``return_std``, a pair of values and deviations.

        ``True`` or ``"epistemic"``: of the Bellman operator at that point, ``sqrt(v^T Sigma_N v)``. ``"predictive"``:
        of a new target ``b`` there, noise included. ``"value"``: of the value itself, the operator's uncertainty
        carried through to its fixed point. Where the data and the prior say nothing (only without a prior), the
        deviation is infinite.
        """
        fit = self._fitted()
        array = np.asarray(checks.real_array("features", features, ndim=(2,)), dtype=np.float64)
        if array.shape[1] != self.n_features_in_:
            raise ValueError(
                f"features has {array.shape[1]} columns; the estimator was fitted on {self.n_features_in_}"
            )
        if (found := checks.culprit("features", array, 0)) is not None:
            raise ValueError(found)
        values = array @ fit.solution.x
        if isinstance(return_std, bool | np.bool_):
            if not return_std:
                return values
            return_std = "epistemic"
        if return_std not in WIDTHS:
            raise ValueError(f"return_std is {return_std!r}; accepted are False, True and {WIDTHS}")
        return values, np.sqrt(fit.variance(array, return_std))

    def sample(self, key: Key[Array, ""] | UInt32[Array, " 2"] | int, n: int = 1) -> Float[np.ndarray, "samples n"]:
        """Draw ``n`` Bellman operators from the posterior: rows of coefficients phi, with ``B_phi = features @ phi``.

        ``key`` is a JAX random key or an integer seed. Directions of which nothing is known stay at zero.
        """
        fit = self._fitted()
        if not isinstance(n, Integral) or n < 0:
            raise ValueError(f"n is {n!r}; accepted is a whole number of samples >= 0")
        if isinstance(key, Integral) and not 0 <= key < 2**63:
            raise ValueError(f"key is {key}; accepted are JAX random keys and seeds from 0 to 2**63 - 1")
        root = fit.spectrum.inverse_root
        with jax.enable_x64(True):
            typed = jax.random.key(int(key)) if isinstance(key, Integral) else key
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

    # ------------------------------------------------------------------------------------------------- the inside

    def _fitted(self) -> Fit:
        if self._fit is None:
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
                "prior_variance=inf says that nothing is known beforehand;"
                " prior_mean and prior_covariance must then be None"
            )

    def _build_model(self, num_features: int) -> ConjugatePosterior:
        checks.fits_in_memory(num_features)
        if self.prior_covariance is None:
            precision = np.eye(num_features) / float(self.prior_variance)
        else:
            precision = precision_of(checks.prior_covariance_matrix(self.prior_covariance))
        mean = np.zeros(num_features)
        if self.prior_mean is not None:
            mean = checks.finite_vector("prior_mean", self.prior_mean)
        for name, size in (("prior_mean", len(mean)), ("prior_covariance", len(precision))):
            if size != num_features:
                raise ValueError(f"{name} is for {size} features, but features has {num_features} columns")
        return ConjugatePosterior(mean, precision, np.asarray(self.noise_variance, dtype=np.float64))

    def _learn(self, chunks: Iterable[tuple]) -> "LinearBBO":
        """Start anew from the prior, take in all chunks, and answer."""
        self._check_parameters()
        fit = None
        for number, chunk in enumerate(chunks):
            with _telling_which_chunk(number, chunks):
                fit = self._take_in(fit, chunk)
        if fit is None:
            raise ValueError("chunks is empty; pass at least one chunk, of zero transitions if there are none")
        checks.weights_not_all_zero(float(fit.statistics.count), float(fit.statistics.weight_sum))
        open_directions, n = fit.solution.null.shape[1], len(fit.model.prior_mean)
        if open_directions:
            warn(
                f"the data determine {n - open_directions} of {n} directions of omega (constant, collinear or zero"
                " features, or too few transitions); omega_ is the solution of least norm. A finite prior_variance"
                " makes the posterior proper",
                RankDeficientWarning,
            )
        self._fit = fit
        return self

    def _take_in(self, before: Fit | None, chunk: tuple) -> Fit:
        """What is known after one more chunk; nothing of ``self`` changes, so a refused chunk leaves no trace."""
        proper_policy = before.proper_policy if before else checks.yes_or_no("proper_policy", self.proper_policy)
        known = None if before is None else len(before.model.prior_mean)
        checked = check_chunk(chunk, known, proper_policy=proper_policy)
        if before is None:
            self._check_parameters()
            num_features = checked.features.shape[1]
            before = Fit(self._build_model(num_features), empty_statistics(num_features))
        return Fit(
            before.model,
            accumulate(checked, before.statistics),
            proper_policy=proper_policy,
            undiscounted=before.undiscounted or bool((checked.discounts == 1).any()),
        )


@contextmanager
def _telling_which_chunk(number: int, chunks: Iterable[tuple]) -> Iterator[None]:
    """Put the chunk's number in front of an error, unless there is but one."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(chunks, list) and len(chunks) == 1:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"chunk {number}: {error}") from error
