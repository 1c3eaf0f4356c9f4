"""Linear algebra shared by the exact methods. Each function takes NumPy or JAX arrays and answers in kind.

The exact float64 path runs on NumPy, whatever JAX's precision; compiled scans run the same formulas on JAX arrays.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bayesbellman.core.types import AnyArray


def sherman_morrison(
    inverse: Float[AnyArray, "n n"], u: Float[AnyArray, " n"], v: Float[AnyArray, " n"]
) -> Float[AnyArray, "n n"]:
    """``(M + u v^T)^-1`` from ``M^-1``, in O(n^2)."""
    inverse_u = inverse @ u
    v_inverse = v @ inverse
    return inverse - inverse_u[:, None] * (v_inverse / (1 + v @ inverse_u))[None, :]


def woodbury_gain(
    inverse: Float[AnyArray, "n n"], u: Float[AnyArray, "k n"], v: Float[AnyArray, "k n"]
) -> Float[AnyArray, "n k"]:
    """``G = M^-1 U^T (I + V M^-1 U^T)^-1``: then ``(M + U^T V)^-1 = M^-1 - G V M^-1``, for k rows at once."""
    xp = inverse.__array_namespace__()
    spread = inverse @ u.T
    return spread @ xp.linalg.inv(xp.eye(u.shape[0], dtype=inverse.dtype) + v @ spread)


def symmetrise(matrix: Float[AnyArray, "n n"]) -> Float[AnyArray, "n n"]:
    """The symmetric part: removes what rounding broke."""
    return (matrix + matrix.T) / 2


def inverse_root(precision: Float[AnyArray, "n n"]) -> Float[AnyArray, "n n"]:
    """``R`` with ``R R^T = precision^-1``, from the Cholesky factor: a covariance's square root."""
    xp = precision.__array_namespace__()
    factor = xp.linalg.cholesky(symmetrise(precision))
    identity = xp.eye(precision.shape[0], dtype=precision.dtype)
    return xp.linalg.solve(factor, identity).T


def rank_tolerance(size: int) -> float:
    """Below this share of the largest, an eigenvalue or singular value is rounding.

    Sums of exactly collinear features leave up to some 10 eps (measured over sizes, row counts and seeds); 64 eps, or
    the usual ``n eps`` where that is more, keeps clear of it.
    """
    return max(size, 64) * float(np.finfo(np.float64).eps)


def unit_diagonal_scale(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, " n"]:
    """``s`` such that ``diag(s) matrix diag(s)`` has diagonal 1 (or 0): takes units out of a judgement."""
    diagonal = np.abs(np.diagonal(matrix))
    return 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))


class Spectrum(NamedTuple):
    """A symmetric positive semi-definite matrix taken apart: what it determines and what it leaves open."""

    inverse_root: Float[np.ndarray, "n rank"]
    """``R`` with ``R R^T`` the inverse on the directions it determines, and nothing on those it leaves open."""
    null: Float[np.ndarray, "n open"]
    """An orthonormal basis of the directions it leaves open: eigenvalue zero to rounding."""

    @property
    def rank(self) -> int:
        return self.inverse_root.shape[1]


def psd_spectrum(matrix: Float[np.ndarray, "n n"]) -> Spectrum:
    """By eigenvalues, scaled to unit diagonal first so that rank does not hang on units (see `rank_tolerance`)."""
    scale = unit_diagonal_scale(matrix)
    values, vectors = np.linalg.eigh(symmetrise(scale[:, None] * matrix * scale))
    kept = values > max(float(values[-1]), 0.0) * rank_tolerance(len(values))
    null = _orthonormal(scale[:, None] * vectors[:, ~kept])
    root = scale[:, None] * (vectors[:, kept] / np.sqrt(values[kept]))
    return Spectrum(_without(null, root), null)


class Solution(NamedTuple):
    """Solution of a square system with what is needed to judge it."""

    x: Float[np.ndarray, " n"]
    inverse: Float[np.ndarray, "n n"]
    """The inverse, or where the matrix is singular to rounding an inverse on the directions it determines."""
    null: Float[np.ndarray, "n open"]
    """An orthonormal basis of the directions it leaves open."""
    condition_number: float
    """Largest over smallest singular value after scaling; infinite where the matrix is singular to rounding."""


def solve_with_rank(
    matrix: Float[np.ndarray, "n n"],
    rhs: Float[np.ndarray, " n"],
    scale: Float[np.ndarray, " n"],
    largest_rank: int | None = None,
) -> Solution:
    """Solve ``matrix x = rhs``; where the matrix is singular to rounding, the answer is the solution of least norm.

    Rank and condition are those of ``diag(scale) matrix diag(scale)``, so that they do not hang on the units of the
    unknowns (see `rank_tolerance`). ``largest_rank`` is a bound on the rank that is known beforehand.
    """
    scaled = scale[:, None] * matrix * scale
    left, singular, right = np.linalg.svd(scaled)
    kept = singular > singular[0] * rank_tolerance(len(singular))
    if largest_rank is not None:
        kept &= np.arange(len(singular)) < largest_rank
    inverse = scale[:, None] * ((right[kept].T / singular[kept]) @ left[:, kept].T) * scale
    if not kept.all():
        null = _orthonormal(scale[:, None] * right[~kept].T)
        inverse = _without(null, inverse)
        return Solution(inverse @ rhs, inverse, null, float("inf"))
    # Elimination is a digit or two more exact than multiplying with the inverse.
    x = scale * np.linalg.solve(scaled, scale * rhs)
    return Solution(x, inverse, np.zeros((len(rhs), 0)), float(singular[0] / singular[-1]))


def _orthonormal(columns: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """An orthonormal basis of the columns' span; columns may differ in size by many orders of magnitude."""
    size = np.linalg.norm(columns, axis=0)
    return np.linalg.qr(columns / np.where(size > 0, size, 1.0))[0]


def _without(basis: Float[np.ndarray, "n k"], columns: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
    """The columns less their components along an orthonormal basis."""
    return columns - basis @ (basis.T @ columns)


def spectral_radius(matrix: Float[np.ndarray, "n n"]) -> float:
    """Largest modulus of an eigenvalue; 0 for an empty matrix."""
    return float(np.max(np.abs(np.linalg.eigvals(matrix)), initial=0.0))
