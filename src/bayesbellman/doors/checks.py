"""Checks at the door. Each error names the argument, what was given and what is accepted."""

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesbellman.envs.spaces import Box, Discrete

LARGEST_EXACT_INTEGER = 2**53
SMALLEST = 1e-100
"""Variances and mean weights below this (or above its inverse) are mistakes, and their squares leave float64."""


def real_array(name: str, given: Any, *, ndim: Sequence[int]) -> np.ndarray:
    """``given`` as a real array of an accepted rank, not copied and not cast: casting happens block by block.

    Accepted are the number types float64 holds exactly: floats up to 64 bits, integers, booleans, of any byte order.
    """
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost; fill or drop the masked entries first")
    if hasattr(given, "toarray"):
        raise TypeError(f"{name} is sparse ({type(given).__name__}); pass {name}.toarray(), in chunks if it is large")
    try:
        array = np.asarray(given)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name} is no array: its rows have different lengths") from None
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "fiub" or (kind == "f" and size > 8):
        raise TypeError(
            f"{name} has dtype {array.dtype}; accepted are real numbers: float16 to float64, integers, booleans"
        )
    if array.ndim not in ndim:
        accepted = " or ".join({0: "a scalar", 1: "one dimension (N,)", 2: "two dimensions (N, n)"}[d] for d in ndim)
        squeeze = array.ndim == 2 and 1 in ndim and 1 in array.shape
        hint = f"; pass {name}.ravel() if it is one number per transition" if squeeze else ""
        raise ValueError(f"{name} has shape {array.shape}; accepted is {accepted}{hint}")
    if kind in "iu" and size == 8 and array.size:
        extreme = max(abs(int(array.min())), abs(int(array.max())))
        if extreme > LARGEST_EXACT_INTEGER:
            raise TypeError(f"{name} has integers beyond 2**53 ({extreme}), which float64 cannot hold exactly")
    return array


def same_length(name: str, array: np.ndarray, expected: int) -> None:
    """One row per transition."""
    if array.shape[0] != expected:
        raise ValueError(f"{name} has {array.shape[0]} rows, but features has {expected}; they must be the same")


def positive_number(name: str, given: Any, *, infinite: bool = False) -> float:
    """A positive float; infinity only where it has a meaning."""
    number = one_number(name, given)
    if not (SMALLEST <= number <= 1 / SMALLEST or (infinite and number == math.inf)):
        accepted = f"a positive number ({SMALLEST:g} to {1 / SMALLEST:g})" + (" or math.inf" if infinite else "")
        raise ValueError(f"{name} is {given!r}; accepted is {accepted}")
    return number


def whole_number(name: str, given: Any) -> int:
    """An int; a float that is whole, such as 1e5, stands for one."""
    number = one_number(name, given)
    if not number.is_integer():  # nor are nan and infinity
        raise ValueError(f"{name} is {given!r}; accepted is a whole number")
    return int(given)


def finite_number(name: str, given: Any) -> float:
    number = one_number(name, given)
    if not math.isfinite(number):
        raise ValueError(f"{name} is {given!r}; accepted is a finite number")
    return number


def yes_or_no(name: str, given: Any) -> bool:
    """True or False; a word would count as True, "False" among them."""
    if not isinstance(given, bool | np.bool_):
        raise TypeError(f"{name} is {given!r} ({type(given).__name__}); accepted are True and False")
    return bool(given)


def one_number(name: str, given: Any) -> float:
    """A float, which may be infinite or no number; words and flags are none."""
    try:
        if isinstance(given, str | bytes | bool):
            raise TypeError
        return float(given)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {given!r} ({type(given).__name__}); accepted is a number") from None


def no_flags(discounts: Any) -> None:
    """Whether an episode ended is easily taken for a discount, and would be one of 0 almost everywhere."""
    if getattr(discounts, "dtype", None) == np.bool_ or isinstance(discounts, bool):
        raise TypeError(
            "discounts are true or false; accepted are numbers in [0, 1): gamma, and 0 where an episode terminated"
            " (bbo: --terminated takes the flags)"
        )


def discounts_in_range(discounts: np.ndarray, *, proper_policy: bool) -> None:
    """``0 <= gamma_i < 1``, and 1 only where the policy is said to be proper (every episode ends)."""
    if not discounts.size:
        return
    lowest, highest = float(discounts.min()), float(discounts.max())
    if not (lowest >= 0 and highest <= 1):  # nan fails both
        raise ValueError(f"discounts range from {lowest} to {highest}; accepted are numbers in [0, 1)")
    if highest == 1 and not proper_policy:
        raise ValueError(
            "discounts contains 1, with which values are finite only if every episode ends. Use numbers in [0, 1),"
            " with 0 at terminal transitions; or, if the policy always terminates, LinearBBO(proper_policy=True)"
            " (bbo: --proper-policy)"
        )


def weights_in_range(weights: np.ndarray) -> None:
    """Importance weights are finite and not negative."""
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(
            f"weights has {bad.size} value(s) that are negative or not finite, the first {weights[bad[0]]}"
            f" at row {bad[0]}; accepted are finite importance ratios >= 0"
        )


def weights_not_all_zero(count: float, weight_sum: float) -> None:
    """Data whose weights vanish say nothing, and would return the prior as if they had been learnt from."""
    if count > 0 and weight_sum <= count * SMALLEST:
        raise ValueError(
            f"weights sum to {weight_sum} over {int(count)} transitions, so no transition counts;"
            " check the ratio of the target policy's to the behaviour policy's probabilities"
        )


def culprit(name: str, array: np.ndarray, first_row: int) -> str | None:
    """Where the first number that is not finite stands, in words; None if all are finite."""
    bad = np.argwhere(~np.isfinite(array))
    if not bad.size:
        return None
    row, *column = (int(i) for i in bad[0])
    place = f"row {first_row + row}" + (f", column {column[0]}" if column else "")
    return (
        f"{name} has {len(bad)} value(s) that are not finite in this block, the first {array[tuple(bad[0])]} at {place}"
    )


def fits_in_memory(num_features: int) -> None:
    """The exact method keeps n x n matrices: refuse before the first product if they cannot fit."""
    matrices = 10  # sums, their updates, the system, its singular vectors, the covariance
    needed, total = matrices * 8 * num_features**2, _memory()
    if total is not None and needed > total:
        raise MemoryError(
            f"features has {num_features} columns: the exact posterior needs about {needed / 2**30:,.0f} GiB for its"
            f" {num_features} x {num_features} matrices and this machine has {total / 2**30:,.0f} GiB. Reduce the"
            " columns first (a random projection or principal components to a few thousand)"
        )


def replay_fits(buffer_size: int, num_observed: int, action: Box | Discrete, device: Any) -> None:
    """Replay is made when training begins: refuse what the device cannot hold, in words that name the setting."""
    each = 4 * (2 * num_observed + (action.size if isinstance(action, Box) else 1) + 3)
    total = _memory() if device.platform == "cpu" else (device.memory_stats() or {}).get("bytes_limit")
    if total is not None and each * buffer_size > total:
        raise MemoryError(
            f"buffer_size is {buffer_size:,}: replay of so many transitions with {num_observed:,} numbers observed"
            f" takes {each * buffer_size / 2**30:,.0f} GiB, and the {device.platform} has {total / 2**30:,.0f} GiB;"
            f" buffer_size={total // (2 * each):,} takes half of it"
        )


def _memory() -> int | None:
    """Bytes that the machine has; None if it cannot be asked."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def observation_rows(given: Any, shape: tuple[int, ...], size: int) -> tuple[Float[np.ndarray, "rows d"], bool]:
    """Observations as rows of float32, and whether there were several. Each has the space's ``shape``, or is flat."""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], dict):
        raise TypeError("observation is a pair with a dictionary, as Gymnasium's reset() gives; pass its first part")
    try:
        array = np.asarray(given, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise TypeError(f"observation is no array of numbers ({error}); expected {shape} or rows of it") from None
    if not np.isfinite(array).all():
        raise ValueError("observation holds nan or infinity")
    if array.shape in (shape, (size,)) or (size == 1 and array.ndim == 0):
        return array.reshape(1, size), False
    if array.ndim > 1 and array.shape[1:] in (shape, (size,)):
        return array.reshape(len(array), size), True
    raise ValueError(f"observation has shape {array.shape}; expected {shape} or rows of it")


def finite_vector(name: str, given: Any) -> Float[np.ndarray, " n"]:
    """A vector of finite numbers, as float64."""
    vector = np.array(real_array(name, given, ndim=(1,)), dtype=np.float64)
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} has values that are not finite; accepted are finite numbers")
    return vector


def prior_covariance_matrix(given: Any) -> Float[np.ndarray, "n n"]:
    """A symmetric matrix with positive diagonal; whether it is positive definite is judged where it is inverted."""
    matrix = np.array(real_array("prior_covariance", given, ndim=(2,)), dtype=np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"prior_covariance has shape {matrix.shape}; accepted is a square matrix")
    if not np.isfinite(matrix).all():
        raise ValueError("prior_covariance has values that are not finite; accepted are finite numbers")
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0):
        gap = float(np.abs(matrix - matrix.T).max())
        raise ValueError(f"prior_covariance is not symmetric (differs from its transpose by up to {gap:.3g})")
    if not (np.diagonal(matrix) > 0).all():
        raise ValueError(
            f"prior_covariance has the variance {np.diagonal(matrix).min():.3g} on its diagonal;"
            " variances must be positive"
        )
    return matrix
