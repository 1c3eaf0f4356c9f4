"""Transitions as a user hands them over: checked, then summed block by block in float64."""

from typing import Any, NamedTuple

import jax
import numpy as np

from bayesbellman.core.threads import split_among_cores
from bayesbellman.doors import checks
from bayesbellman.evaluation.linear_system import LinearStatistics, linear_statistics

BLOCK_NUMBERS = 2**19
"""Numbers per array in one block (4 MiB of float64): small beside the data, large beside the cost of starting one."""


class Chunk(NamedTuple):
    """Checked transitions, still in the caller's arrays."""

    features: np.ndarray
    rewards: np.ndarray
    next_features: np.ndarray
    discounts: np.ndarray
    weights: np.ndarray | None

    def block(self, start: int, stop: int) -> "Chunk":
        """Rows ``start`` to ``stop`` in float64: the caller's memory if it is that already, else a copy."""

        def rows(array: np.ndarray) -> np.ndarray:
            return np.asarray(array[start:stop] if array.ndim else array, dtype=np.float64)

        return Chunk(
            rows(self.features),
            rows(self.rewards),
            rows(self.next_features),
            rows(self.discounts),
            None if self.weights is None else rows(self.weights),
        )


def check_chunk(chunk: Any, num_features: int | None, *, proper_policy: bool) -> Chunk:
    """``(features, rewards, next_features, discounts[, weights])`` with shapes, types and ranges in order.

    Numbers that are not finite are found later, by `accumulate`, without a pass over the data of their own.
    """
    if not isinstance(chunk, tuple | list):
        raise TypeError(
            f"a chunk is {type(chunk).__name__}; accepted is a tuple"
            " (features, rewards, next_features, discounts[, weights])"
        )
    if not 4 <= len(chunk) <= 5:
        raise ValueError(
            f"a chunk has {len(chunk)} parts; accepted is (features, rewards, next_features, discounts[, weights])"
        )
    features, rewards, next_features, discounts, weights = (*chunk, None)[:5]
    v = checks.real_array("features", features, ndim=(2,))
    r = checks.real_array("rewards", rewards, ndim=(1,))
    v_next = checks.real_array("next_features", next_features, ndim=(2,))
    checks.no_flags(discounts)
    gamma = checks.real_array("discounts", discounts, ndim=(0, 1))
    w = None if weights is None else checks.real_array("weights", weights, ndim=(1,))
    if v.shape[1] == 0:
        raise ValueError("features has no columns; accepted is shape (N, n) with n >= 1")
    if num_features is not None and v.shape[1] != num_features:
        raise ValueError(f"features has {v.shape[1]} columns, but the data before had {num_features}")
    if v_next.shape[1] != v.shape[1]:
        raise ValueError(f"next_features has {v_next.shape[1]} columns, but features has {v.shape[1]}")
    for name, array in (("rewards", r), ("next_features", v_next), ("discounts", gamma), ("weights", w)):
        if array is not None and array.ndim:
            checks.same_length(name, array, len(v))
    checks.discounts_in_range(gamma, proper_policy=proper_policy)
    if w is not None:
        checks.weights_in_range(w)
    return Chunk(v, r, v_next, gamma, w)


def accumulate(chunk: Chunk, before: LinearStatistics) -> LinearStatistics:
    """Statistics of ``before`` and the chunk together; a number that is not finite is refused, by name and row."""
    num_rows, num_features = chunk.features.shape
    rows = max(BLOCK_NUMBERS // num_features, 1024)

    def one_range(first: int, last: int) -> LinearStatistics:
        sums = [np.zeros_like(leaf) for leaf in jax.tree.leaves(before)]
        with np.errstate(all="ignore"):  # what overflows or is not finite is found below, and named
            for start in range(first, last, rows):
                block = linear_statistics(*chunk.block(start, min(start + rows, last)))
                for total, part in zip(sums, jax.tree.leaves(block), strict=True):
                    np.add(total, part, out=total)
        return jax.tree.unflatten(jax.tree.structure(before), sums)

    total = before
    for part in split_among_cores(one_range, num_rows, enough=2 * rows):
        total = total + part
    if not all(bool(np.isfinite(leaf).all()) for leaf in jax.tree.leaves(total)):
        raise ValueError(_what_is_not_finite(chunk, rows))
    return total


def _what_is_not_finite(chunk: Chunk, rows: int) -> str:
    """Products with a nan or an infinity are not finite, so the data are searched only when the sums are not."""
    for start in range(0, len(chunk.features), rows):
        for name, array in chunk.block(start, start + rows)._asdict().items():
            if array is not None and (found := checks.culprit(name, array, start)) is not None:
                return f"{found}; drop or repair such transitions (the successor of a terminal one may be all zeros)"
    return "the sums of products of features, rewards and weights overflow float64; scale them down"
