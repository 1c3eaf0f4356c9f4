"""Non-linear evaluators: against the linear ones where functions are linear, and against formulas written out."""

import equinox as eqx
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
from bayesbellman.evaluation.nonlinear_bbo import (
    AbstractNonlinearBBO,
    GradientFormBBO,
    NonlinearState,
    TwoTimescaleBBO,
    bellman_samples,
    two_timescale_bbo,
)
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


def off_policy() -> Transition:
    """The same with importance weights that differ, and an end."""
    weights = jnp.asarray(np.random.default_rng(2).uniform(0.2, 2.0, size=ROWS))
    ended = batch().discount.at[4].set(0.0)
    return eqx.tree_at(lambda data: (data.discount, data.weight), batch(), (ended, weights))


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


PHI, OMEGA, CENTRE = np.array([0.2, 0.5, -0.3]), np.array([0.7, -1.2, 0.4]), np.array([0.1, 0.0, -0.6])
PULL = 1 / (PRIOR_VARIANCE * ROWS)
"""Twice the weight of the prior beside the mean over the data: its slope, per distance from its centre"""


def away_from_the_fixed_point(estimator: AbstractNonlinearBBO) -> NonlinearState:
    """With an operator, an omega and a centre of the prior that are not the same."""
    places = tuple(LinearFunction(jnp.asarray(x)) for x in (PHI, CENTRE, OMEGA))
    return eqx.tree_at(lambda s: (s.posterior.phi, s.posterior.anchor, s.omega), estimator.init(KEY), places)


def lower_loss(phi: np.ndarray, centre: np.ndarray) -> tuple[np.floating, np.ndarray]:
    """And its slope, for the data that OMEGA makes."""
    data = jax.tree.map(np.asarray, off_policy())
    errors = data.reward + data.discount * (data.next_observation @ OMEGA) - V @ phi
    loss = np.mean(data.weight * errors**2) / 2 + PULL * np.sum((phi - centre) ** 2) / 2
    return loss, -V.T @ (data.weight * errors) / ROWS + PULL * (phi - centre)


@pytest.mark.parametrize("moving", [False, True])
def test_one_update_of_two_timescales_by_hand(moving: bool, x64: None) -> None:
    """The prior is centred on what it was centred on or, if its centre moves, on omega; then omega follows phi, which
    has taken two steps."""
    settings = {"posterior": gaussian_map(optax.sgd(0.3)), "slow": optax.sgd(0.2), "lower_steps": 2, "slow_size": 0.5}
    rule = TwoTimescaleBBO(**settings, moving_anchor=moving)
    after, metrics = rule.update(KEY, away_from_the_fixed_point(rule), off_policy())
    phi, centre = PHI, OMEGA if moving else CENTRE
    for _ in range(2):
        phi = phi - 0.3 * lower_loss(phi, centre)[1]
    omega = OMEGA - 0.1 * (OMEGA - phi)
    np.testing.assert_allclose(after.posterior.phi.weights, phi, rtol=1e-10)
    np.testing.assert_allclose(after.omega.weights, omega, rtol=1e-10)
    np.testing.assert_allclose(metrics["gap"], np.linalg.norm(OMEGA - phi), rtol=1e-10)
    np.testing.assert_allclose(metrics["loss"], lower_loss(phi, centre)[0], rtol=1e-10)
    ball = TwoTimescaleBBO(**settings, radius=0.7, moving_anchor=moving)
    kept, _ = ball.update(KEY, away_from_the_fixed_point(ball), off_policy())
    np.testing.assert_allclose(kept.omega.weights, 0.7 * omega / np.linalg.norm(omega), rtol=1e-10)


def test_each_timescale_has_its_own_steps_and_both_have_the_ball(x64: None) -> None:
    """Two updates: steps of 0.5 and 0.5 / 2^0.6 on the way to phi, of 0.1 and 0.1 / 2^0.9 on omega's."""
    timescales = TwoTimescales(PolynomialDecay(0.5, 0.6), PolynomialDecay(0.1, 0.9))
    free, ball = (two_timescale_bbo(zeros, timescales, radius=radius) for radius in (float("inf"), 0.02))
    phi, omega, state = np.zeros(3), np.zeros(3), free.init(KEY)
    for k in (1, 2):
        phi = phi + 0.5 * k**-0.6 * V.T @ (REWARDS + GAMMA * 0.5 * V_NEXT @ omega - V @ phi) / ROWS
        omega = omega - 0.1 * k**-0.9 * (omega - phi)
        state, _ = free.update(KEY, state, batch())
    np.testing.assert_allclose(state.posterior.phi.weights, phi, rtol=1e-10)
    np.testing.assert_allclose(state.omega.weights, omega, rtol=1e-10)
    kept, _ = ball.update(KEY, ball.start(LinearFunction(jnp.asarray(OMEGA))), batch())
    for network in (kept.posterior.phi, kept.omega):
        np.testing.assert_allclose(np.linalg.norm(network.weights), 0.02, rtol=1e-10)


@pytest.mark.parametrize("moving", [False, True])
def test_gradient_form_with_damping_and_a_moving_centre_by_hand(moving: bool, x64: None) -> None:
    """``dphi*/domega`` from the matrices written out; a centre that moves with omega pulls phi along."""
    damping, data = 0.2, jax.tree.map(np.asarray, off_policy())
    rule = GradientFormBBO(
        posterior=gaussian_map(optax.sgd(0.3)), slow=optax.sgd(0.1), damping=damping, moving_anchor=moving
    )
    state = away_from_the_fixed_point(rule)
    found = rule.msbbe_gradient(state.omega, state.posterior, off_policy())
    weighted = data.weight[:, None] * V / ROWS
    mixed = weighted.T @ (data.discount[:, None] * data.next_observation) + (PULL if moving else 0.0) * np.eye(3)
    hessian = weighted.T @ V + (PULL + damping) * np.eye(3)
    direct = weighted.T @ V @ (OMEGA - PHI)
    np.testing.assert_allclose(found.weights, direct - mixed.T @ np.linalg.solve(hessian, direct), rtol=1e-7)


@pytest.mark.parametrize("through", ["implicit", "unrolled"])
def test_gradient_form_has_the_closed_form_s_gradient(through: str, x64: None) -> None:
    """At the exact phi*(omega); unrolling 2,000 steps of a contraction is as good as its limit."""
    omega, data = LinearFunction(jnp.asarray([0.7, -1.2, 0.4])), off_policy()
    model = ConjugatePosterior.isotropic(3, PRIOR_VARIANCE)
    samples = bellman_samples(omega, data)
    phi, _ = model.update(KEY, model.init(KEY), samples)
    optimiser = optax.sgd(0.3)
    estimator = GradientFormBBO(
        posterior=gaussian_map(optimiser), slow=optax.sgd(0.1), through=through, unrolled_steps=2000, unrolled_size=0.3
    )
    at = MAPState(LinearFunction(phi.mean), zeros(KEY), optimiser.init(omega))
    found = estimator.msbbe_gradient(omega, at, data).weights
    second_moment = jnp.asarray(V.T @ (np.asarray(data.weight)[:, None] * V) / ROWS)
    expected = linear_msbbe_gradient(model, transition_statistics(data), omega.weights, second_moment)
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
    data = off_policy()
    estimator = NonlinearTD(lambda key: network, correction, optax.sgd(1.0))
    descent, ascent, delta = estimator.directions(network, unravel(zeta_flat), data)

    def value(parameters: jax.Array, observation: jax.Array) -> jax.Array:
        return unravel(parameters)(observation)

    errors = [
        data.reward[i] + data.discount[i] * value(flat, data.next_observation[i]) - value(flat, data.observation[i])
        for i in range(ROWS)
    ]
    np.testing.assert_allclose(delta, errors, rtol=1e-9)
    omega_direction, zeta_direction = 0.0, 0.0
    for i in range(ROWS):
        share = data.weight[i] / ROWS
        slope = jax.grad(value)(flat, data.observation[i])
        next_slope = data.discount[i] * jax.grad(value)(flat, data.next_observation[i])
        d = slope @ zeta_flat
        h = (delta[i] - d) * (jax.hessian(value)(flat, data.observation[i]) @ zeta_flat)
        omega_direction += {
            "none": share * delta[i] * slope,
            "tdc": share * (delta[i] * slope - next_slope * d - h),
            "gtd2": share * ((slope - next_slope) * d - h),
        }[correction]
        zeta_direction += share * (delta[i] - d) * slope
    np.testing.assert_allclose(-ravel_pytree(descent)[0], omega_direction, rtol=1e-9, atol=1e-12)
    if correction != "none":
        np.testing.assert_allclose(ravel_pytree(ascent)[0], zeta_direction, rtol=1e-9, atol=1e-12)


def test_scaled_zeta_ascends_by_the_mean_square_of_gradients(x64: None) -> None:
    """Those of a linear function are its features. omega's direction, and its ball, have nothing to do with it."""
    omega, zeta = LinearFunction(jnp.asarray([0.3, -0.2, 0.9])), LinearFunction(jnp.asarray([0.5, 0.1, -0.4]))
    plain, scaled = (NonlinearTD(zeros, "tdc", optax.sgd(1.0), radius=0.5, scaled_zeta=on) for on in (False, True))
    descent, ascent, _ = plain.directions(omega, zeta, off_policy())
    same, smaller, _ = scaled.directions(omega, zeta, off_policy())
    np.testing.assert_allclose(smaller.weights * np.mean(np.sum(V**2, axis=1)), ascent.weights, rtol=1e-10)
    np.testing.assert_array_equal(same.weights, descent.weights)
    after, _ = plain.update(KEY, eqx.tree_at(lambda s: (s.omega, s.zeta), plain.init(KEY), (omega, zeta)), off_policy())
    moved = omega.weights - descent.weights
    np.testing.assert_allclose(after.omega.weights, 0.5 * moved / np.linalg.norm(moved), rtol=1e-10)
    np.testing.assert_allclose(after.zeta.weights, zeta.weights + ascent.weights, rtol=1e-10)


@pytest.mark.parametrize("values", ["linear", "network"])
def test_the_sampled_gradient_is_unbiased(values: str, x64: None) -> None:
    """Of the MSBBE for samples of the exact posterior, values being linear or a network; 4 standard errors allowed.

    The operator is linear, so that the posterior is exact whatever the values are, and its mean can be differentiated.
    20,000 repetitions, one sample for the first factor and two for the covariance.
    """
    model = ConjugatePosterior.isotropic(3, PRIOR_VARIANCE)
    data, statistics = off_policy(), transition_statistics(off_policy())
    network = LinearFunction(jnp.asarray([0.7, -1.2, 0.4]))
    if values == "network":
        network = jax.tree.map(lambda x: x.astype(float), MLP.glorot(KEY, 3, (4,), jnp.tanh))
    inputs = jnp.asarray(np.random.default_rng(5).normal(size=(6, 3)))
    gram = np.asarray(statistics.gram)

    def posterior_mean(omega) -> jax.Array:
        targets = data.reward + data.discount * omega(data.next_observation)
        return jnp.linalg.solve(jnp.eye(3) / PRIOR_VARIANCE + gram, data.observation.T @ (data.weight * targets))

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
