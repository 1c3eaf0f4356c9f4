"""Arithmetic on parameter trees."""

import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.core import trees

TREE = {"w": jnp.array([[3.0, 0.0]]), "b": jnp.array([4.0])}


def test_squared_norm() -> None:
    assert trees.squared_norm(TREE) == 25.0


def test_projection_onto_a_ball() -> None:
    inside = trees.project_to_ball(TREE, 5.5)
    jax.tree.map(np.testing.assert_array_equal, inside, TREE)  # to the bit
    outside = trees.project_to_ball(TREE, 2.5)
    np.testing.assert_allclose(outside["w"], [[1.5, 0.0]])
    np.testing.assert_allclose(outside["b"], [2.0])


def test_what_is_too_large_to_be_squared_is_projected_too() -> None:
    found = trees.project_to_ball({"a": jnp.array([3e20, 0.0]), "b": jnp.array(4e20)}, 1e3)
    np.testing.assert_allclose(found["a"], [600.0, 0.0], rtol=1e-6)
    np.testing.assert_allclose(found["b"], 800.0, rtol=1e-6)


def test_projection_has_a_finite_gradient_at_zero() -> None:
    gradient = jax.grad(lambda x: trees.squared_norm(trees.project_to_ball({"x": x}, 1.0)))(jnp.zeros(3))
    np.testing.assert_array_equal(gradient, jnp.zeros(3))


def test_slow_update() -> None:
    psi = jax.tree.map(jnp.zeros_like, TREE)
    halfway = trees.slow_update(TREE, psi, 0.5)
    np.testing.assert_allclose(halfway["b"], [2.0])
    jax.tree.map(np.testing.assert_array_equal, trees.slow_update(TREE, psi, 1.0), psi)  # BAC: omega := psi
    np.testing.assert_allclose(
        jnp.sqrt(trees.squared_norm(trees.slow_update(TREE, TREE, 0.1, radius=1.0))), 1.0, rtol=1e-6
    )
