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


def symmetrise(matrix: Float[AnyArray, "n n"]) -> Float[AnyArray, "n n"]:
    """The symmetric part: removes what rounding broke."""
    return (matrix + matrix.T) / 2


def inverse_root(precision: Float[AnyArray, "n n"]) -> Float[AnyArray, "n n"]:
    """``R`` with ``R R^T = precision^-1``, from the Cholesky factor: a covariance's square root."""
    xp = precision.__array_namespace__()
    factor = xp.linalg.cholesky(symmetrise(precision))
    identity = xp.eye(precision.shape[0], dtype=precision.dtype)
    return xp.linalg.solve(factor, identity).T


def unit_diagonal_scale(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, " n"]:
    """``s`` such that ``diag(s) matrix diag(s)`` has diagonal 1 (or 0): takes units out of a judgement."""
    diagonal = np.abs(np.diagonal(matrix))
    return 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))


class Spectrum(NamedTuple):
    """A symmetric positive semi-definite matrix taken apart: what it determines and what it leaves open."""

    inverse_root: Float[np.ndarray, "n rank"]
    """``R`` with ``R R^T`` the inverse on the determined directions."""
    null: Float[np.ndarray, "n open"]
    """An orthonormal basis of the directions whose eigenvalue is zero to rounding."""


def psd_spectrum(matrix: Float[np.ndarray, "n n"]) -> Spectrum:
    """Eigenvalues, scaled to unit diagonal first; one counts as zero when it is below ``n eps`` times the largest."""
    scale = unit_diagonal_scale(matrix)
    values, vectors = np.linalg.eigh(symmetrise(scale[:, None] * matrix * scale))
    kept = values > max(float(values[-1]), 0.0) * len(values) * np.finfo(values.dtype).eps
    root = scale[:, None] * (vectors[:, kept] / np.sqrt(values[kept]))
    null, _ = np.linalg.qr(scale[:, None] * vectors[:, ~kept])
    return Spectrum(root, null)


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
    matrix: Float[np.ndarray, "n n"], rhs: Float[np.ndarray, " n"], scale: Float[np.ndarray, " n"]
) -> Solution:
    """Solve ``matrix x = rhs``; where the matrix is singular to rounding, the answer is the solution of least norm.

    Rank and condition are those of ``diag(scale) matrix diag(scale)``, so that they do not hang on the units of the
    unknowns. A singular value counts as zero when it is below ``n eps`` times the largest.
    """
    scaled = scale[:, None] * matrix * scale
    left, singular, right = np.linalg.svd(scaled)
    kept = singular > singular[0] * len(singular) * np.finfo(singular.dtype).eps
    inverse = scale[:, None] * ((right[kept].T / singular[kept]) @ left[:, kept].T) * scale
    null, _ = np.linalg.qr(scale[:, None] * right[~kept].T)
    if null.shape[1]:
        inverse = inverse - null @ (null.T @ inverse)
        return Solution(inverse @ rhs, inverse, null, float("inf"))
    # Elimination is a digit or two more exact than multiplying with the inverse.
    x = scale * np.linalg.solve(scaled, scale * rhs)
    return Solution(x, inverse, null, float(singular[0] / singular[-1]))


def spectral_radius(matrix: Float[np.ndarray, "n n"]) -> float:
    """Largest modulus of an eigenvalue; 0 for an empty matrix."""
    return float(np.max(np.abs(np.linalg.eigvals(matrix)), initial=0.0))
