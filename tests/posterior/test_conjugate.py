"""The conjugate posterior against its textbook formula, and its calibration (Talts et al. 2018)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.core.types import BellmanSamples
from bayesbellman.posterior.conjugate import ConjugatePosterior

KEY = jax.random.key(0)


@pytest.fixture
def problem(x64) -> dict:
    """A general prior, weights that differ, noise that is not 1."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    return {
        "prior_mean": rng.normal(size=3),
        "prior_covariance": root @ root.T + 0.1 * np.eye(3),
        "noise_variance": 0.7,
        "v": rng.normal(size=(8, 3)),
        "b": rng.normal(size=8),
        "w": rng.uniform(0.1, 3.0, size=8),
    }


def posterior_of(problem: dict) -> ConjugatePosterior:
    return ConjugatePosterior(
        prior_mean=jnp.asarray(problem["prior_mean"]),
        prior_precision=jnp.asarray(np.linalg.inv(problem["prior_covariance"])),
        noise_variance=jnp.asarray(problem["noise_variance"]),
    )


def samples_of(problem: dict) -> BellmanSamples:
    return BellmanSamples(*(jnp.asarray(problem[name]) for name in ("v", "b", "w")))


def textbook(problem: dict) -> tuple[np.ndarray, np.ndarray]:
    """By conditioning the joint Gaussian of phi and b, without any precision: another road to the same place."""
    v, sigma0 = problem["v"], problem["prior_covariance"]
    noise = np.diag(problem["noise_variance"] / problem["w"])
    gain = sigma0 @ v.T @ np.linalg.inv(v @ sigma0 @ v.T + noise)
    mean = problem["prior_mean"] + gain @ (problem["b"] - v @ problem["prior_mean"])
    return mean, sigma0 - gain @ v @ sigma0


def test_equals_the_conditioned_joint_gaussian(problem: dict) -> None:
    posterior = posterior_of(problem)
    state, _ = posterior.update(KEY, posterior.init(KEY), samples_of(problem))
    mean, covariance = textbook(problem)
    np.testing.assert_allclose(state.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(state.covariance, covariance, rtol=1e-9, atol=1e-12)


def test_predictive_splits_the_variance(problem: dict) -> None:
    posterior = posterior_of(problem)
    state, _ = posterior.update(KEY, posterior.init(KEY), samples_of(problem))
    mean, covariance = textbook(problem)
    query = np.random.default_rng(1).normal(size=(5, 3))
    predictive = posterior.predict(state, jnp.asarray(query))
    np.testing.assert_allclose(predictive.mean, query @ mean, rtol=1e-9)
    np.testing.assert_allclose(predictive.epistemic, np.diag(query @ covariance @ query.T), rtol=1e-9)
    np.testing.assert_allclose(predictive.aleatoric, np.full(5, 0.7))
    np.testing.assert_allclose(predictive.variance, predictive.epistemic + 0.7)


def test_before_data_it_is_the_prior(problem: dict) -> None:
    posterior = posterior_of(problem)
    state = posterior.init(KEY)
    np.testing.assert_allclose(state.mean, problem["prior_mean"], rtol=1e-9)
    np.testing.assert_allclose(state.covariance, problem["prior_covariance"], rtol=1e-9)


@pytest.mark.parametrize("name", ["prior_variance", "noise_variance"])
def test_variances_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is -1.0; accepted is a .*number > 0"):
        ConjugatePosterior.isotropic(2, **{name: -1.0})


def test_the_constructor_itself_refuses_noise_that_is_none() -> None:
    for variance in (-1.0, 0.0, float("nan")):
        with pytest.raises(ValueError, match=f"noise_variance is {variance}; accepted is a finite number > 0"):
            ConjugatePosterior(np.zeros(2), np.eye(2), np.asarray(variance))


def test_a_weight_counts_repetitions(problem: dict) -> None:
    """An integer weight is that many copies of the sample."""
    posterior, samples = posterior_of(problem), samples_of(problem)
    weights = jnp.array([1.0, 2.0, 3.0, 1.0, 0.0, 1.0, 2.0, 1.0])
    weighted = BellmanSamples(samples.inputs, samples.targets, weights)
    repeat = np.repeat(np.arange(8), np.asarray(weights, dtype=int))
    copies = BellmanSamples(samples.inputs[repeat], samples.targets[repeat], jnp.ones(len(repeat)))
    by_weight, _ = posterior.update(KEY, posterior.init(KEY), weighted)
    by_copies, _ = posterior.update(KEY, posterior.init(KEY), copies)
    np.testing.assert_allclose(by_weight.precision, by_copies.precision, rtol=1e-12)
    np.testing.assert_allclose(by_weight.information, by_copies.information, rtol=1e-12)


def test_randomised_priors_are_exact_only_with_target_noise(problem: dict) -> None:
    """Spec of the RP corollary in the linear Gaussian case, where an ensemble member can be solved for exactly.

    A member is the posterior mean for a prior mean drawn from the prior and, with target noise, targets drawn around
    the data. With noise its covariance is Sigma_N; without, Sigma_N Sigma_0^-1 Sigma_N, which is smaller. A member is
    an affine map of Gaussian draws, so both hold exactly, and 40,000 members must show them: an entry of a Gaussian
    sample covariance C_ij has standard error sqrt((C_ii C_jj + C_ij^2) / M); 5 are allowed on each of 2 x 9 entries.
    """
    draws = 40_000
    posterior, samples = posterior_of(problem), samples_of(problem)
    prior_root = jnp.asarray(np.linalg.cholesky(problem["prior_covariance"]))

    def member(key: jax.Array, target_noise: float) -> jax.Array:
        prior_key, noise_key = jax.random.split(key)
        epsilon = posterior.prior_mean + prior_root @ jax.random.normal(prior_key, (3,), dtype=jnp.float64)
        noise = jnp.sqrt(posterior.noise_variance / samples.weights) * jax.random.normal(
            noise_key, (8,), dtype=jnp.float64
        )
        randomised = ConjugatePosterior(epsilon, posterior.prior_precision, posterior.noise_variance)
        targets = samples.targets + target_noise * noise
        state, _ = randomised.update(
            key, randomised.init(key), BellmanSamples(samples.inputs, targets, samples.weights)
        )
        return state.mean

    mean, sigma_n = textbook(problem)
    without = sigma_n @ np.linalg.inv(problem["prior_covariance"]) @ sigma_n
    for target_noise, expected in ((1.0, sigma_n), (0.0, without)):
        members = np.asarray(jax.jit(jax.vmap(lambda k, t=target_noise: member(k, t)))(jax.random.split(KEY, draws)))
        variances = np.diag(expected)
        assert (np.abs(members.mean(0) - mean) < 5 * np.sqrt(variances / draws)).all()
        error = np.sqrt((np.outer(variances, variances) + expected**2) / draws)
        assert (np.abs(np.cov(members.T) - expected) < 5 * error).all()
    assert (np.linalg.eigvalsh(sigma_n - without) > 0).all()


TRIALS, RANKED = 4_000, 99


@jax.jit
def simulated_ranks(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Per data set drawn from prior and model: rank of the true operator among samples, and whether 90 % hold it."""
    posterior = ConjugatePosterior.isotropic(3, prior_variance=2.0, noise_variance=0.5)
    query = jnp.array([1.0, -2.0, 0.5])

    def trial(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        k_phi, k_v, k_w, k_b, k_s = jax.random.split(key, 5)
        phi = posterior.sample(k_phi, posterior.prior)
        v = jax.random.normal(k_v, (6, 3))
        w = jax.random.uniform(k_w, (6,), minval=0.2, maxval=2.0)
        b = v @ phi + jnp.sqrt(posterior.noise_variance / w) * jax.random.normal(k_b, (6,))
        state, _ = posterior.update(key, posterior.prior, BellmanSamples(v, b, w))
        drawn = jax.vmap(lambda k: query @ posterior.sample(k, state))(jax.random.split(k_s, RANKED))
        predictive = posterior.predict(state, query)
        inside = jnp.abs(query @ phi - predictive.mean) < 1.644854 * jnp.sqrt(predictive.epistemic)
        return jnp.sum(drawn < query @ phi), inside

    return jax.vmap(trial)(jax.random.split(key, TRIALS))


def pearson(ranks: jax.Array) -> float:
    """Pearson's statistic of the ranks in 20 bins of 5 against uniform: mean 19, standard deviation sqrt(38)."""
    counts = np.bincount(np.asarray(ranks) // 5, minlength=20)
    return float(np.sum((counts - TRIALS / 20) ** 2 / (TRIALS / 20)))


def test_simulation_based_calibration() -> None:
    """Ranks of the true operator among posterior samples are uniform, and 90 % intervals cover 90 %.

    4,000 data sets, 99 samples each. Pearson's statistic may be 5 standard deviations above its mean (50). Coverage has
    standard error sqrt(.9 .1 / 4000) = 0.47 %; 4 of them are allowed. The seed is fixed, so the test does not flake.
    """
    ranks, inside = simulated_ranks(KEY)
    assert pearson(ranks) < 19 + 5 * np.sqrt(38)
    assert abs(float(inside.mean()) - 0.9) < 4 * np.sqrt(0.9 * 0.1 / TRIALS)


@pytest.mark.slow
def test_calibration_over_many_seeds() -> None:
    """The same over 100 seeds: the statistics themselves scatter as they should, so the bounds above are fair.

    The mean of 100 Pearson statistics has standard error sqrt(38 / 100) = 0.62, of the coverage 0.047 %; 4 allowed.
    """
    statistics, coverage = [], []
    for key in jax.random.split(jax.random.key(1), 100):
        ranks, inside = simulated_ranks(key)
        statistics.append(pearson(ranks))
        coverage.append(float(inside.mean()))
    assert abs(np.mean(statistics) - 19) < 4 * np.sqrt(38 / 100)
    assert abs(np.mean(coverage) - 0.9) < 4 * np.sqrt(0.9 * 0.1 / TRIALS / 100)
