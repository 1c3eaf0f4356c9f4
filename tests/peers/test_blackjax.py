"""The exact linear posterior beside one sampled by somebody else's NUTS."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from bayesbellman.core.types import BellmanSamples
from bayesbellman.posterior.conjugate import ConjugatePosterior


def test_the_conjugate_posterior_is_what_nuts_samples() -> None:
    """Mean and covariance over 4 chains of 2,000: within 5 standard errors, five draws counted as one."""
    rng = np.random.default_rng(0)
    v, b, w = rng.normal(size=(8, 3)), rng.normal(size=8), rng.uniform(0.5, 2.0, size=8)
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):  # strict promotion is our own habit
        model = ConjugatePosterior.isotropic(3, prior_variance=2.0, noise_variance=0.5)
        samples = BellmanSamples(jnp.asarray(v), jnp.asarray(b), jnp.asarray(w))
        exact, _ = model.update(jax.random.key(0), model.init(jax.random.key(0)), samples)

        def log_density(phi: jax.Array) -> jax.Array:
            return -jnp.sum(w * (b - v @ phi) ** 2) / (2 * 0.5) - jnp.sum(phi**2) / (2 * 2.0)

        def chain(key: jax.Array) -> jax.Array:
            warm_key, run_key = jax.random.split(key)
            adapt = blackjax.window_adaptation(blackjax.nuts, log_density)
            (state, parameters), _ = adapt.run(warm_key, jnp.zeros(3), num_steps=500)
            step = blackjax.nuts(log_density, **parameters).step

            def one(state, key):
                state, _ = step(key, state)
                return state, state.position

            return jax.lax.scan(one, state, jax.random.split(run_key, 2_000))[1]

        draws = np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(1), 4))).reshape(-1, 3)
        mean, covariance = np.asarray(exact.mean), np.asarray(exact.covariance)
    effective = len(draws) / 5
    variances = np.diag(covariance)
    assert (np.abs(draws.mean(0) - mean) < 5 * np.sqrt(variances / effective)).all()
    error = np.sqrt((np.outer(variances, variances) + covariance**2) / effective)
    assert (np.abs(np.cov(draws.T) - covariance) < 5 * error).all()
