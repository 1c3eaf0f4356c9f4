"""Non-linear evaluators: against the linear ones where functions are linear, and against formulas written out."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

import bayesbellman as bb
from bayesbellman.core.timescales import PolynomialDecay, TwoTimescales
from bayesbellman.core.types import Transition
from bayesbellman.evaluation.gradient_td import GTD2, TDC
from bayesbellman.evaluation.linear_system import posterior_given_omega, transition_statistics
from bayesbellman.evaluation.nonlinear_bbo import GradientFormBBO, TwoTimescaleBBO, bellman_samples, two_timescale_bbo
from bayesbellman.evaluation.nonlinear_td import NonlinearTD
from bayesbellman.evaluation.objectives import linear_msbbe_gradient, sampled_msbbe_gradient
from bayesbellman.nn.mlp import MLP, LinearFunction
from bayesbellman.posterior.conjugate import ConjugatePosterior
from bayesbellman.posterior.map_estimate import MAPEstimate, MAPState

KEY = jax.random.key(0)
GAMMA, ROWS, PRIOR_VARIANCE = 0.8, 12, 4.0
RNG = np.random.default_rng(0)
V, V_NEXT, REWARDS = RNG.normal(size=(ROWS, 3)), RNG.normal(size=(ROWS, 3)), RNG.normal(size=ROWS)


def batch() -> Transition:
    return Transition(
        jnp.asarray(V), None, jnp.asarray(REWARDS), jnp.full(ROWS, GAMMA), jnp.asarray(0.5 * V_NEXT), jnp.ones(ROWS)
    )


def zeros(key: jax.Array) -> LinearFunction:
    return LinearFunction(jnp.zeros(3))


def gaussian_map(optimiser: optax.GradientTransformation) -> MAPEstimate:
    return MAPEstimate(zeros, optimiser, prior_weight=1 / (2 * PRIOR_VARIANCE), prior_share=1 / ROWS)


def exact_omega() -> np.ndarray:
    model = bb.LinearBBO(prior_variance=PRIOR_VARIANCE)
    return model.fit(V, REWARDS, 0.5 * V_NEXT, GAMMA).omega_


def learnt(estimator, steps: int):
    def one(state, key):
        return estimator.update(key, state, batch())[0], None

    return jax.jit(lambda keys: jax.lax.scan(one, estimator.init(KEY), keys)[0])(jax.random.split(KEY, steps))


def test_two_timescales_with_legal_schedules_reach_the_fixed_point(x64: None) -> None:
    """Theorem 2 on a linear problem whose limiting flow omega' = phi*(omega) - omega is stable (checked here)."""
    model = ConjugatePosterior.isotropic(3, PRIOR_VARIANCE)
    statistics = transition_statistics(batch())
    sigma_n = np.linalg.inv(np.eye(3) / PRIOR_VARIANCE + np.asarray(statistics.gram))
    flow = sigma_n @ np.asarray(statistics.cross) - np.eye(3)
    assert np.linalg.eigvals(flow).real.max() < -0.1
    assert model.prior_mean.shape == (3,)
    timescales = TwoTimescales(PolynomialDecay(0.5, 0.55), PolynomialDecay(0.5, 0.75))
    rule = two_timescale_bbo(zeros, timescales, 1 / (2 * PRIOR_VARIANCE), 1 / ROWS)
    np.testing.assert_allclose(learnt(rule, 60_000).omega.weights, exact_omega(), atol=2e-3)


def test_illegal_schedules_are_refused() -> None:
    with pytest.raises(ValueError, match="two-timescale conditions"):
        two_timescale_bbo(zeros, TwoTimescales(PolynomialDecay(0.5, 0.9), PolynomialDecay(0.5, 0.6)))


def test_direct_bbo_sets_omega_to_phi(x64: None) -> None:
    state = learnt(TwoTimescaleBBO(posterior=gaussian_map(optax.sgd(0.3)), slow=None), 2000)
    np.testing.assert_array_equal(state.omega.weights, state.posterior.phi.weights)
    np.testing.assert_allclose(state.omega.weights, exact_omega(), rtol=1e-6)


@pytest.mark.parametrize("through", ["implicit", "unrolled"])
def test_gradient_form_has_the_closed_form_s_gradient(through: str, x64: None) -> None:
    """At the exact phi*(omega); unrolling 2,000 steps of a contraction is as good as its limit."""
    omega = LinearFunction(jnp.asarray([0.7, -1.2, 0.4]))
    model = ConjugatePosterior.isotropic(3, PRIOR_VARIANCE)
    samples = bellman_samples(omega, batch())
    phi, _ = model.update(KEY, model.init(KEY), samples)
    optimiser = optax.sgd(0.3)
    estimator = GradientFormBBO(
        posterior=gaussian_map(optimiser), slow=optax.sgd(0.1), through=through, unrolled_steps=2000, unrolled_size=0.3
    )
    at = MAPState(LinearFunction(phi.mean), zeros(KEY), optimiser.init(omega))
    found = estimator.msbbe_gradient(omega, at, batch()).weights
    second_moment = jnp.asarray(V.T @ V / ROWS)
    expected = linear_msbbe_gradient(model, transition_statistics(batch()), omega.weights, second_moment)
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_gradient_form_reaches_the_fixed_point_where_two_timescales_diverge(x64: None) -> None:
    """Successors twice as large as their states in every feature: the flow of the slow rule is unstable."""
    grows = Transition(
        jnp.asarray(V), None, jnp.asarray(REWARDS), jnp.full(ROWS, 0.9), jnp.asarray(2.0 * V), jnp.ones(ROWS)
    )
    statistics = transition_statistics(grows)
    sigma_n = np.linalg.inv(np.eye(3) / PRIOR_VARIANCE + np.asarray(statistics.gram))
    assert np.linalg.eigvals(sigma_n @ np.asarray(statistics.cross) - np.eye(3)).real.min() > 0.3

    def run(estimator, steps: int) -> np.ndarray:
        def one(state, key):
            return estimator.update(key, state, grows)[0], None

        return np.asarray(
            jax.jit(lambda keys: jax.lax.scan(one, estimator.init(KEY), keys)[0])(
                jax.random.split(KEY, steps)
            ).omega.weights
        )

    lower = gaussian_map(optax.sgd(0.3))
    exact = bb.LinearBBO(prior_variance=PRIOR_VARIANCE).fit(V, REWARDS, 2.0 * V, 0.9).omega_
    slow = run(TwoTimescaleBBO(posterior=lower, slow=optax.sgd(0.05), lower_steps=20), 600)
    assert np.linalg.norm(slow) > 1e3
    form = run(GradientFormBBO(posterior=lower, slow=optax.sgd(0.3), lower_steps=20), 3000)
    np.testing.assert_allclose(form, exact, rtol=1e-4)


@pytest.mark.parametrize(("correction", "linear"), [("tdc", TDC), ("gtd2", GTD2)])
def test_corrections_are_the_linear_ones_on_linear_functions(correction: str, linear: type, x64: None) -> None:
    omega, zeta = LinearFunction(jnp.asarray([0.3, -0.2, 0.9])), LinearFunction(jnp.asarray([0.5, 0.1, -0.4]))
    one = jax.tree.map(lambda x: x[:1], batch())
    estimator = NonlinearTD(zeros, correction, optax.sgd(1.0), optax.sgd(1.0))
    descent, ascent, _ = estimator.directions(omega, zeta, one)
    reference = linear(3, 1.0, 1.0)
    before = reference.init(KEY)
    before = type(before)(omega.weights, zeta.weights, before.inherited)
    after, _ = reference.update(KEY, before, jax.tree.map(lambda x: x[0], one))
    np.testing.assert_allclose(-descent.weights, after.omega - omega.weights, rtol=1e-10)
    np.testing.assert_allclose(ascent.weights, after.zeta - zeta.weights, rtol=1e-10)


@pytest.mark.parametrize("correction", ["none", "tdc", "gtd2"])
def test_directions_against_formulas_with_explicit_hessians(correction: str, x64: None) -> None:
    """A small tanh network; gradients and Hessians of each value formed in full."""
    network = MLP.glorot(KEY, 3, (4,), jnp.tanh)
    flat, unravel = ravel_pytree(network)
    zeta_flat = jnp.asarray(np.random.default_rng(1).normal(size=flat.shape))
    data = batch()
    estimator = NonlinearTD(lambda key: network, correction, optax.sgd(1.0))
    descent, ascent, delta = estimator.directions(network, unravel(zeta_flat), data)

    def value(parameters: jax.Array, observation: jax.Array) -> jax.Array:
        return unravel(parameters)(observation)

    omega_direction, zeta_direction = 0.0, 0.0
    for i in range(ROWS):
        slope = jax.grad(value)(flat, data.observation[i])
        next_slope = GAMMA * jax.grad(value)(flat, data.next_observation[i])
        d = slope @ zeta_flat
        h = (delta[i] - d) * (jax.hessian(value)(flat, data.observation[i]) @ zeta_flat)
        omega_direction += {
            "none": delta[i] * slope,
            "tdc": delta[i] * slope - next_slope * d - h,
            "gtd2": (slope - next_slope) * d - h,
        }[correction] / ROWS
        zeta_direction += (delta[i] - d) * slope / ROWS
    np.testing.assert_allclose(-ravel_pytree(descent)[0], omega_direction, rtol=1e-9, atol=1e-12)
    if correction != "none":
        np.testing.assert_allclose(ravel_pytree(ascent)[0], zeta_direction, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("values", ["linear", "network"])
def test_the_sampled_gradient_is_unbiased(values: str, x64: None) -> None:
    """Of the MSBBE for samples of the exact posterior, values being linear or a network; 4 standard errors allowed.

    The operator is linear, so that the posterior is exact whatever the values are, and its mean can be differentiated.
    20,000 repetitions, one sample for the first factor and two for the covariance.
    """
    model = ConjugatePosterior.isotropic(3, PRIOR_VARIANCE)
    data, statistics = batch(), transition_statistics(batch())
    network = LinearFunction(jnp.asarray([0.7, -1.2, 0.4]))
    if values == "network":
        network = jax.tree.map(lambda x: x.astype(float), MLP.glorot(KEY, 3, (4,), jnp.tanh))
    inputs = jnp.asarray(np.random.default_rng(5).normal(size=(6, 3)))
    gram = np.asarray(statistics.gram)

    def posterior_mean(omega) -> jax.Array:
        targets = data.reward + data.discount * omega(data.next_observation)
        return jnp.linalg.solve(jnp.eye(3) / PRIOR_VARIANCE + gram, data.observation.T @ targets)

    def msbbe(omega) -> jax.Array:
        return 0.5 * jnp.mean((omega(inputs) - inputs @ posterior_mean(omega)) ** 2)

    truth = ravel_pytree(jax.grad(msbbe)(network))[0]
    if values == "linear":
        closed = linear_msbbe_gradient(model, statistics, network.weights, inputs.T @ inputs / 6)
        np.testing.assert_allclose(truth, closed, rtol=1e-9)
        np.testing.assert_allclose(
            posterior_mean(network), posterior_given_omega(model, statistics, network.weights).mean, rtol=1e-9
        )
    root = jnp.linalg.cholesky(jnp.linalg.inv(jnp.eye(3) / PRIOR_VARIANCE + gram))

    def once(key: jax.Array) -> jax.Array:
        drawn = jax.vmap(LinearFunction)(posterior_mean(network) + jax.random.normal(key, (3, 3)) @ root.T)
        first, second = (jax.tree.map(lambda x, s=s: x[s], drawn) for s in (slice(1), slice(1, 3)))
        return ravel_pytree(sampled_msbbe_gradient(network, first, second, data, inputs))[0]

    found = np.asarray(jax.jit(jax.vmap(once))(jax.random.split(KEY, 20_000)))
    assert (np.abs(found.mean(0) - truth) < 4 * found.std(0) / np.sqrt(len(found))).all()
    assert np.abs(truth).max() > 10 * (found.std(0) / np.sqrt(len(found))).max()  # the test could fail
