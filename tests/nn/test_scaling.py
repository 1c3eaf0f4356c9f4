"""Scaling of observations: bounds become -1 and 1, and bounds that say nothing change nothing."""

import jax.numpy as jnp
import numpy as np

from bayesbellman.nn.scaling import Scaling


def test_bounds_become_one_and_the_rest_stays() -> None:
    huge = float(np.finfo(np.float32).max)
    low = jnp.array([-2.0, 0.0, -jnp.inf, 5.0, -huge])
    high = jnp.array([2.0, 1.0, jnp.inf, 5.0, huge])
    scaling = Scaling(low, high)
    found = scaling(jnp.array([[2.0, 0.0, 7.0, 5.0, 3.0], [0.0, 0.5, -7.0, 5.0, -3.0]]))
    np.testing.assert_allclose(found, [[1.0, -1.0, 7.0, 5.0, 3.0], [0.0, 0.0, -7.0, 5.0, -3.0]])


def test_bounds_a_million_apart_stand_for_infinity() -> None:
    scaling = Scaling(jnp.array([-4e5, -6e5]), jnp.array([4e5, 6e5]))
    np.testing.assert_allclose(scaling(jnp.array([2e5, 2e5])), [0.5, 2e5], rtol=1e-6)
