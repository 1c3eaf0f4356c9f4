"""Draws from given noise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.core.sampling import categorical


def test_first_index_whose_cumulative_probability_exceeds_the_number() -> None:
    p = jnp.array([0.25, 0.0, 0.5, 0.25, 0.0])
    numbers = jnp.array([0.0, 0.24, 0.25, 0.74, 0.75, 0.999])
    assert jax.vmap(lambda u: categorical(u, p))(numbers).tolist() == [0, 0, 2, 2, 3, 3]


def test_nothing_impossible_is_drawn_where_rounding_leaves_the_sum_short() -> None:
    """In float32 these sum to less than the largest number below 1; the last entry has no probability."""
    p = jnp.array([0.1] * 9 + [0.0999, 0.0])
    assert categorical(jnp.float32(1 - 2**-24), p) == 9


@pytest.mark.parametrize("seed", range(5))
def test_nothing_impossible_is_drawn_where_rounding_moves_the_sum(seed: int) -> None:
    """Of 400 entries every other one has no probability; numbers at and just below each step of the sum."""
    p = np.random.default_rng(seed).random(400).astype(np.float32)
    p[::2] = 0
    p /= p.sum()
    steps = np.asarray(jnp.cumsum(p))
    numbers = np.concatenate([steps, np.nextafter(steps, np.float32(0))])
    drawn = jax.vmap(lambda u: categorical(u, jnp.asarray(p)))(jnp.asarray(numbers[numbers < 1]))
    assert (p[np.asarray(drawn)] > 0).all()


def test_frequencies() -> None:
    """20,000 draws: each frequency within 5 standard errors, of at most 0.35 %."""
    p = jnp.array([0.1, 0.6, 0.3])
    numbers = jnp.asarray(np.random.default_rng(0).random(20_000), dtype=jnp.float32)
    counts = np.bincount(jax.vmap(lambda u: categorical(u, p))(numbers), minlength=3)
    np.testing.assert_allclose(counts / 20_000, p, atol=5 * 0.0035)
