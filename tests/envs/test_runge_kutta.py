"""Runge-Kutta's order, on an oscillator under a constant force: what it does is known."""

import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.envs.runge_kutta import runge_kutta


def oscillator(motion: jax.Array, force: jax.Array) -> jax.Array:
    place, velocity = motion
    return jnp.stack([velocity, force - place])


def error(steps: int, force: float = 0.7, seconds: float = 1.0) -> float:
    """After so many steps from rest at 1, where ``place = force + (1 - force) cos(time)``."""
    motion = jnp.asarray([1.0, 0.0])
    for _ in range(steps):
        motion = runge_kutta(oscillator, motion, jnp.asarray(force), seconds / steps)
    exact = [force + (1 - force) * np.cos(seconds), -(1 - force) * np.sin(seconds)]
    return float(np.linalg.norm(np.asarray(motion) - exact))


def test_the_order_is_four(x64: None) -> None:
    """Half the step, a sixteenth of the error: measured orders of 4 within 0.1, as steps are not infinitely small."""
    errors = np.array([error(steps) for steps in (4, 8, 16)])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 4, atol=0.1)


def test_a_step_is_the_exponential_series_to_the_fourth_power(x64: None) -> None:
    """Where a rate is linear, ``motion' = A motion``, the step is exp(seconds A) cut off after the fourth power."""
    seconds, turn = 0.3, np.array([[0.0, 1.0], [-1.0, 0.0]])
    powers = [np.linalg.matrix_power(seconds * turn, k) for k in range(5)]
    series = powers[0] + powers[1] + powers[2] / 2 + powers[3] / 6 + powers[4] / 24
    motion = np.array([0.4, -1.3])
    found = runge_kutta(oscillator, jnp.asarray(motion), jnp.asarray(0.0), seconds)
    np.testing.assert_allclose(found, series @ motion, rtol=0, atol=1e-15)
