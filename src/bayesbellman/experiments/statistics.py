"""Statistics of a few runs: interquartile means, probabilities of improvement, and their bootstrap intervals.

Strata are groups of runs that are drawn again each for itself: the environments, where runs are on several of them.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

Values = Float[np.ndarray, " _"]
DRAWS = 2_000
LEVEL = 0.95


def interquartile_mean(values: Values) -> float:
    """Mean of the middle half; a seed whose numbers are not finite counts as the worst.

    A quarter of the values, rounded down, is cut at each end: of fewer than four, none.
    """
    return float(interquartile_means(values))


def interquartile_means(values: Float[np.ndarray, "*rows S"]) -> Float[np.ndarray, "*rows"]:
    """`interquartile_mean` of each row."""
    ordered = np.sort(_worst(values), axis=-1)
    cut = ordered.shape[-1] // 4
    return np.asarray(np.mean(ordered[..., cut : ordered.shape[-1] - cut], axis=-1))


def median_time(times: Values) -> float:
    """When half of the runs had come so far; infinite where fewer did. Of an even number the lower one of the two."""
    return float(np.quantile(times, 0.5, method="lower"))


def bootstrap_interval(values: Values | Sequence[Values], draws: int = DRAWS) -> tuple[float, float]:
    """95 % of interquartile means of seeds drawn again with replacement, within each stratum where there are several.

    By percentiles. With few seeds it is too narrow: docs/runs.md says by how much.
    """
    strata = [values] if isinstance(values, np.ndarray) else values
    rng = np.random.default_rng(0)
    drawn = [stratum[index] for stratum, index in zip(strata, _indices(rng, strata, draws), strict=True)]
    return _middle(interquartile_means(np.concatenate(drawn, axis=1)))


def bootstrap_band(
    curves: Float[np.ndarray, "S T"], draws: int = DRAWS
) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, " T"]]:
    """`bootstrap_interval` at each of T moments. Whole curves are drawn, the same ones for all moments."""
    (index,) = _indices(np.random.default_rng(0), [curves], draws)
    ends = [_middle(interquartile_means(moment[index])) for moment in curves.T]
    low, high = np.array(ends).reshape(-1, 2).T
    return low, high


def probability_of_improvement(x: Sequence[Values], y: Sequence[Values]) -> float:
    """That a run of ``x`` is better than one of ``y``; a tie counts half (Mann and Whitney's U over its most).

    One array per stratum; the mean over strata, in each of which all pairs are compared.
    """
    return float(np.mean([np.mean(_better(a, b)) for a, b in zip(x, y, strict=True)]))


def improvement_interval(x: Sequence[Values], y: Sequence[Values], draws: int = DRAWS) -> tuple[float, float]:
    """95 % of probabilities of improvement when seeds of both are drawn again, within each stratum."""
    rng = np.random.default_rng(0)
    found = np.zeros(draws)
    for a, b, at_a, at_b in zip(x, y, _indices(rng, x, draws), _indices(rng, y, draws), strict=True):
        # how often each seed was drawn: the mean over drawn pairs is a bilinear form of these numbers
        times_a, times_b = _times(at_a), _times(at_b)
        found += np.sum((times_a @ _better(a, b)) * times_b, axis=1) / (len(a) * len(b))
    return _middle(found / len(x))


def _worst(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, -np.inf)


def _better(x: Values, y: Values) -> Float[np.ndarray, "_ _"]:
    a, b = _worst(x)[:, None], _worst(y)[None, :]
    return (a > b) + 0.5 * (a == b)


def _indices(rng: np.random.Generator, strata: Sequence[np.ndarray], draws: int) -> list[Int[np.ndarray, "draws _"]]:
    if not strata or not all(len(stratum) for stratum in strata):
        raise ValueError("strata: each must hold at least one run")
    return [rng.integers(len(stratum), size=(draws, len(stratum))) for stratum in strata]


def _times(index: Int[np.ndarray, "draws S"]) -> Float[np.ndarray, "draws S"]:
    draws, size = index.shape
    flat = index + size * np.arange(draws)[:, None]
    return np.bincount(flat.reshape(-1), minlength=draws * size).reshape(draws, size).astype(float)


def _middle(found: Float[np.ndarray, " draws"]) -> tuple[float, float]:
    """Ends that were drawn, not between two of them: one may be infinite."""
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="nearest")
    return float(low), float(high)
