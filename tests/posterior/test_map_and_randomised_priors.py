"""MAP estimates and randomised priors where the answer is known: linear functions, Gaussian noise and prior."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bayesbellman.core.types import BellmanSamples
from bayesbellman.nn.mlp import MLP, LinearFunction
from bayesbellman.posterior.conjugate import ConjugatePosterior
from bayesbellman.posterior.map_estimate import MAPEstimate
from bayesbellman.posterior.randomised_prior import RandomisedPrior

KEY = jax.random.key(0)
PRIOR_VARIANCE, NOISE, ROWS = 0.8, 0.5, 7
RNG = np.random.default_rng(3)
V, TARGETS, WEIGHTS = RNG.normal(size=(ROWS, 3)), RNG.normal(size=ROWS), RNG.uniform(0.3, 2.0, size=ROWS)


def samples() -> BellmanSamples:
    return BellmanSamples(jnp.asarray(V), jnp.asarray(TARGETS), jnp.asarray(WEIGHTS), jnp.arange(ROWS))


def from_the_prior(key: jax.Array) -> LinearFunction:
    return LinearFunction(jnp.sqrt(PRIOR_VARIANCE) * jax.random.normal(key, (3,), dtype=float))


def member(**changes) -> MAPEstimate:
    """Weighed as the Gaussian model does: the prior N(phi_0, s I) is 1/(2 s), once for all data."""
    settings = {"prior_weight": 1 / (2 * PRIOR_VARIANCE), "prior_share": 1 / ROWS, "noise_variance": NOISE, **changes}
    return MAPEstimate(from_the_prior, optax.sgd(0.3), **settings)


def solved(posterior, key: jax.Array, steps: int = 600):
    def one(state, step_key):
        return posterior.update(step_key, state, samples())[0], None

    return jax.lax.scan(one, posterior.init(key), jax.random.split(key, steps))[0]


def exact() -> tuple[np.ndarray, np.ndarray]:
    """phi_omega for a prior centred on 0, and Sigma_N."""
    model = ConjugatePosterior.isotropic(3, PRIOR_VARIANCE, NOISE)
    state, _ = model.update(KEY, model.init(KEY), samples())
    return np.asarray(state.mean), np.asarray(state.covariance)


def test_map_of_a_linear_function_is_the_posterior_mean(x64: None) -> None:
    state = solved(member(), KEY)
    anchored = ConjugatePosterior(from_the_prior(KEY).weights, jnp.eye(3) / PRIOR_VARIANCE, jnp.asarray(NOISE))
    truth, _ = anchored.update(KEY, anchored.init(KEY), samples())
    np.testing.assert_allclose(state.phi.weights, truth.mean, rtol=1e-8)
    np.testing.assert_allclose(member().predict(state, jnp.asarray(V)).mean, V @ np.asarray(truth.mean), rtol=1e-8)


@pytest.mark.parametrize("prior", ["anchored", "function"])
@pytest.mark.parametrize("target_noise", [True, False])
def test_ensembles_have_the_covariance_that_the_corollary_says(prior: str, target_noise: bool, x64: None) -> None:
    """With target noise Sigma_N, without Sigma_N Sigma_0^-1 Sigma_N; the mean is phi_omega. 8,000 members.

    An entry of a Gaussian sample covariance has standard error sqrt((C_ii C_jj + C_ij^2) / L); 5 are allowed, of the
    means too.
    """
    size = 8_000
    posterior = RandomisedPrior(member(), size, prior, 1.0, target_noise)
    members = posterior.members(jax.jit(lambda key: solved(posterior, key, 250))(KEY))
    draws = np.asarray(members.network.weights)
    if members.prior is not None:
        draws = draws + np.asarray(members.prior.weights)
    mean, sigma_n = exact()
    covariance = sigma_n if target_noise else sigma_n @ sigma_n / PRIOR_VARIANCE
    assert (np.abs(draws.mean(0) - mean) < 5 * np.sqrt(np.diag(covariance) / size)).all()
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / size)
    assert (np.abs(np.cov(draws.T) - covariance) < 5 * error).all()


@pytest.mark.parametrize(("target_noise", "slope"), [(True, -1.0), (False, -2.0)])
def test_ensembles_concentrate_as_data_grow(target_noise: bool, slope: float, x64: None) -> None:
    """Variance falls as 1/N with target noise (Sigma_N), as 1/N^2 without (Sigma_N Sigma_0^-1 Sigma_N).

    From 32 to 512 rows of orthogonal inputs, so that Sigma_N = 1 / (1/s + N/sigma^2) in each direction. The log of a
    variance over 3 x 1,000 draws has standard error sqrt(2 / 3,000), so the slope over log 16 has 0.013; the prior's
    own part bends it by 0.007 a power. 5 standard errors are allowed.
    """
    spreads = []
    for rows in (32, 512):
        inputs = np.sqrt(rows) * np.linalg.qr(np.random.default_rng(rows).normal(size=(rows, 3)))[0]
        data = BellmanSamples(jnp.asarray(inputs), jnp.zeros(rows), jnp.ones(rows), jnp.arange(rows))
        posterior = RandomisedPrior(member(prior_share=1 / rows), 1_000, "anchored", 1.0, target_noise)

        def one(state, key, posterior=posterior, data=data):
            return posterior.update(key, state, data)[0], None

        keys = jax.random.split(KEY, 300)
        state = jax.jit(lambda keys, p=posterior, f=one: jax.lax.scan(f, p.init(KEY), keys)[0])(keys)
        spreads.append(np.asarray(posterior.members(state).network.weights).var())
    assert abs(np.log(spreads[1] / spreads[0]) / np.log(16) - slope) < 0.08


def test_the_papers_balance_weighs_the_prior_n_times(x64: None) -> None:
    """One step carries the whole prior: its fixed point is that of a prior N times as heavy."""
    paper, heavy = solved(member(prior_share=1.0), KEY), solved(member(prior_weight=ROWS / (2 * PRIOR_VARIANCE)), KEY)
    np.testing.assert_allclose(paper.phi.weights, heavy.phi.weights, rtol=1e-9)


def test_phi_stays_in_its_ball(x64: None) -> None:
    state = solved(member(radius=0.1), KEY, 20)
    np.testing.assert_allclose(jnp.linalg.norm(state.phi.weights), 0.1, rtol=1e-9)


@pytest.mark.parametrize("prior", ["anchored", "function"])
def test_predictions_are_the_members_by_hand(prior: str, x64: None) -> None:
    """Their mean and variance, the noise apart; a prior function counts prior_scale times. Samples are members, all
    alike: the standard error of a count of 3,000 draws among three is sqrt(3,000 * 2/9), 26."""
    posterior = RandomisedPrior(member(), 3, prior, 2.5)
    state = posterior.init(KEY)
    coefficients = np.asarray(state.members.phi.weights)
    if state.priors is not None:
        assert not np.isclose(coefficients, state.priors.weights).any()  # a draw of its own
        coefficients = coefficients + 2.5 * np.asarray(state.priors.weights)
    values = coefficients @ V.T
    found = posterior.predict(state, jnp.asarray(V))
    np.testing.assert_allclose(found.mean, values.mean(0), rtol=1e-10)
    np.testing.assert_allclose(found.epistemic, values.var(0), rtol=1e-10)
    np.testing.assert_allclose(found.aleatoric, NOISE)
    draw = jax.jit(jax.vmap(lambda key: posterior.sample(key, state)(jnp.asarray(V))))
    gaps = np.abs(np.asarray(draw(jax.random.split(KEY, 3_000)))[:, None] - values).max(axis=2)
    assert (gaps.min(axis=1) < 1e-12).all()
    assert np.abs(np.bincount(gaps.argmin(axis=1), minlength=3) - 1_000).max() < 5 * np.sqrt(3_000 * 2 / 9)


def test_a_point_has_the_noise_s_variance_alone_and_moves_by_its_step_size(x64: None) -> None:
    """One step of plain descent, 0.3 times 0.4 of the slope."""
    estimate = member(step_size=0.4)
    state = estimate.init(KEY)
    found = estimate.predict(state, jnp.asarray(V))
    np.testing.assert_array_equal(found.epistemic, 0.0)
    np.testing.assert_allclose(found.aleatoric, NOISE)
    phi = np.asarray(state.phi.weights)  # where the prior is centred, too
    slope = -V.T @ (WEIGHTS * (TARGETS - V @ phi)) / (ROWS * NOISE)
    after, _ = estimate.update(KEY, state, samples())
    np.testing.assert_allclose(after.phi.weights, phi - 0.4 * 0.3 * slope, rtol=1e-10)


def test_any_network_and_optimiser_on_plain_regression() -> None:
    """A network of 32 tanh units on a sine, with Adam: the error falls below a tenth of the targets' variance."""
    with jax.numpy_dtype_promotion("standard"):  # inside optax's Adam
        fit_a_sine()


def fit_a_sine() -> None:
    x = jnp.linspace(-1.0, 1.0, 40)[:, None]
    data = BellmanSamples(x, jnp.sin(3 * x[:, 0]), jnp.ones(40))
    network = MAPEstimate(lambda key: MLP.glorot(key, 1, (32,), jnp.tanh), optax.adam(1e-2), prior_weight=1e-5)
    ensemble = RandomisedPrior(network, 4, "function", 0.5)
    for posterior in (network, ensemble):

        def one(state, key, posterior=posterior):
            return posterior.update(key, state, data)[0], None

        state = jax.jit(lambda keys, p=posterior, f=one: jax.lax.scan(f, p.init(KEY), keys)[0])(
            jax.random.split(KEY, 1500)
        )
        predictive = posterior.predict(state, x)
        assert float(jnp.mean((predictive.mean - data.targets) ** 2)) < 0.05
        assert predictive.epistemic.shape == (40,)
    drawn = ensemble.sample(KEY, state)(x)
    assert drawn.shape == (40,)


@pytest.mark.parametrize(("prior", "kept"), [("none", True), ("function", True), ("anchored", False)])
def test_the_penalty_pulls_to_nothing_or_to_where_members_began(prior: str, kept: bool, x64: None) -> None:
    """At the start a member is where it began, so only a penalty on its own size is felt."""
    posterior = RandomisedPrior(member(prior_weight=2.0, prior_share=1.0), 3, prior)
    state = posterior.init(KEY)
    _, metrics = posterior.update(KEY, state, samples())
    size = jnp.mean(jnp.sum(state.members.phi.weights**2, axis=1))
    assert (state.priors is None) == (prior != "function")
    np.testing.assert_allclose(metrics["loss"] - metrics["fit"], 2.0 * size if kept else 0.0, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"noise_variance": -1.0}, "noise_variance is -1.0; accepted is a finite number > 0"),
        ({"noise_variance": 0.0}, "noise_variance is 0.0"),
        ({"prior_weight": float("nan")}, "prior_weight is nan; accepted is a finite number >= 0"),
        ({"prior_share": -0.1}, "prior_share is -0.1"),
        ({"radius": 0.0}, "radius is 0.0; accepted is a number > 0, inf too"),
        ({"step_size": float("inf")}, "step_size is inf"),
    ],
)
def test_bad_settings_of_a_member_are_named(settings: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MAPEstimate(from_the_prior, optax.sgd(0.1), **settings)


def test_bad_settings_are_named() -> None:
    with pytest.raises(ValueError, match=r"noise_scale is -1\.0"):
        RandomisedPrior(member(), 2, noise_scale=-1.0)
    with pytest.raises(ValueError, match="num_members is 0; accepted is a number >= 1"):
        RandomisedPrior(member(), 0)
    noisy = RandomisedPrior(member(), 2, target_noise=True)
    unnamed = BellmanSamples(jnp.ones((1, 3)), jnp.ones(1), jnp.ones(1))
    with pytest.raises(ValueError, match=r"target_noise needs BellmanSamples\.index"):
        noisy.update(KEY, noisy.init(KEY), unnamed)
