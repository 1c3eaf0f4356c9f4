"""Linear algebra against NumPy's own."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesbellman.core import linalg


@pytest.mark.parametrize("xp", [np, jnp])
def test_sherman_morrison(xp, x64) -> None:
    rng = np.random.default_rng(0)
    matrix, u, v = rng.normal(size=(4, 4)) + 4 * np.eye(4), rng.normal(size=4), rng.normal(size=4)
    updated = linalg.sherman_morrison(xp.asarray(np.linalg.inv(matrix)), xp.asarray(u), xp.asarray(v))
    np.testing.assert_allclose(updated, np.linalg.inv(matrix + np.outer(u, v)), rtol=1e-10)


@pytest.mark.parametrize("xp", [np, jnp])
def test_inverse_root(xp, x64) -> None:
    root = np.random.default_rng(1).normal(size=(5, 5))
    precision = root @ root.T + np.eye(5)
    found = np.asarray(linalg.inverse_root(xp.asarray(precision)))
    np.testing.assert_allclose(found @ found.T, np.linalg.inv(precision), rtol=1e-9)


def test_spectrum_of_a_singular_matrix() -> None:
    """Two equal features: their sum is determined, their difference is not."""
    v = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 1.0], [1.0, 1.0, 5.0]])
    spectrum = linalg.psd_spectrum(v.T @ v)
    assert spectrum.inverse_root.shape == (3, 2)
    np.testing.assert_allclose(np.abs(spectrum.null[:, 0]), [np.sqrt(0.5), np.sqrt(0.5), 0.0], atol=1e-7)
    inverse = spectrum.inverse_root @ spectrum.inverse_root.T
    np.testing.assert_allclose(v.T @ v @ inverse @ v.T @ v, v.T @ v, rtol=1e-10)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 6), exponent=st.floats(-6, 6))
def test_solution_and_rank_do_not_hang_on_units(seed: int, size: int, exponent: float) -> None:
    """Features in other units: the same rank and condition, coefficients in the other unit."""
    rng = np.random.default_rng(seed)
    matrix, rhs = rng.normal(size=(size, size)) + 3 * size * np.eye(size), rng.normal(size=size)
    units = 10.0 ** np.linspace(-exponent, exponent, size)
    scale = linalg.unit_diagonal_scale(matrix)
    plain = linalg.solve_with_rank(matrix, rhs, scale)
    other_matrix = units[:, None] * matrix * units
    other = linalg.solve_with_rank(other_matrix, units * rhs, linalg.unit_diagonal_scale(other_matrix))
    np.testing.assert_allclose(plain.x, np.linalg.solve(matrix, rhs), rtol=1e-8)
    np.testing.assert_allclose(other.x * units, plain.x, rtol=1e-8)
    np.testing.assert_allclose(other.condition_number, plain.condition_number, rtol=1e-6)
    assert plain.null.shape == other.null.shape == (size, 0)


def test_singular_system_gives_the_least_norm() -> None:
    """x and 2x as features, and other units: the answer is the shortest coefficient vector, as the pseudo-inverse's."""
    v = np.random.default_rng(2).normal(size=(50, 2)) @ np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1e3]])
    gram, rhs = v.T @ v, v.T @ (v @ np.array([1.0, 1.0, 1.0]))
    solution = linalg.solve_with_rank(gram, rhs, linalg.unit_diagonal_scale(gram))
    assert solution.null.shape == (3, 1)
    assert solution.condition_number == float("inf")
    np.testing.assert_allclose(solution.x, [0.6, 1.2, 1.0], rtol=1e-7)


def test_zero_matrix() -> None:
    solution = linalg.solve_with_rank(np.zeros((2, 2)), np.zeros(2), np.ones(2))
    np.testing.assert_array_equal(solution.x, np.zeros(2))
    assert solution.null.shape == (2, 2)


def test_what_is_rounding_and_what_is_not() -> None:
    """Eigenvalues of ``[[1, c], [c, 1]]`` are ``1 + c`` and ``1 - c``: 10 and 100 eps of the largest here."""
    eps = float(np.finfo(np.float64).eps)
    for share, rank in ((10, 1), (100, 2)):
        near = 1 - 2 * share * eps
        matrix = np.array([[1.0, near], [near, 1.0]])
        assert linalg.psd_spectrum(matrix).rank == rank
        assert linalg.solve_with_rank(matrix, np.ones(2), np.ones(2)).null.shape == (2, 2 - rank)


def test_a_rank_that_is_known_bounds_the_one_that_is_found() -> None:
    """The direction of the least singular value is then open, though its value is no rounding."""
    matrix, rhs = np.diag([1e-3, 2.0]), np.array([1.0, 1.0])
    solution = linalg.solve_with_rank(matrix, rhs, np.ones(2), largest_rank=1)
    np.testing.assert_allclose(solution.x, [0.0, 0.5])
    np.testing.assert_allclose(np.abs(solution.null), [[1.0], [0.0]])
    assert solution.condition_number == float("inf")
    np.testing.assert_allclose(linalg.solve_with_rank(matrix, rhs, np.ones(2), largest_rank=2).x, [1e3, 0.5])
