"""Theorem 1 and its company on a finite process: what the posterior concentrates on, how fast, and who else gets there.

A random process of 6 states under one policy; transitions are drawn independently from its stationary distribution.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayesbellman as bb
from bayesbellman.core.types import Transition
from bayesbellman.evaluation.gradient_td import GTD2, TDC
from bayesbellman.evaluation.linear_system import (
    LinearStatistics,
    feature_second_moment,
    linear_statistics,
    posterior_given_omega,
)
from bayesbellman.evaluation.objectives import linear_msbbe, linear_mspbe
from bayesbellman.nn.features import tabular_features, triangular_features
from bayesbellman.posterior.conjugate import ConjugatePosterior

GAMMA, STATES, NOISE = 0.8, 6, 1.0
RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.full(STATES, 0.5), size=STATES)
MEAN_REWARD = RNG.normal(size=STATES)
RHO = np.linalg.matrix_power(P, 200)[0]
FEATURES = {
    "full": np.asarray(tabular_features(STATES), dtype=float),
    "impoverished": np.asarray(triangular_features(STATES, 3), dtype=float),
}
SIZES = (500, 2_000, 8_000, 32_000)
both_features = pytest.mark.parametrize("features", FEATURES)


def draw(size: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, rewards (with Gaussian noise) and successors."""
    rng = np.random.default_rng(seed)
    s = rng.choice(STATES, size=size, p=RHO)
    s_next = (rng.random(size)[:, None] < np.cumsum(P[s], axis=1)).argmax(axis=1)
    return s, MEAN_REWARD[s] + rng.normal(scale=0.5, size=size), s_next


def statistics_of(table: np.ndarray, size: int, seed: int) -> LinearStatistics:
    s, r, s_next = draw(size, seed)
    return linear_statistics(table[s], r, table[s_next], np.asarray(GAMMA))


def exact_statistics(table: np.ndarray) -> LinearStatistics:
    """Every transition once, weighted by its probability: the data set of infinite size."""
    s, s_next = np.divmod(np.arange(STATES**2), STATES)
    weights = (RHO[:, None] * P).ravel()
    return linear_statistics(table[s], MEAN_REWARD[s], table[s_next], np.asarray(GAMMA), weights)


def projected_operator(table: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Coefficients of ``P B[Q_omega]``: the rho-weighted least-squares fit of the true Bellman backup."""
    backup = MEAN_REWARD + GAMMA * P @ (table @ omega)
    root = np.sqrt(RHO)[:, None]
    return np.linalg.lstsq(root * table, np.sqrt(RHO) * backup, rcond=None)[0]


def model_of(table: np.ndarray) -> ConjugatePosterior:
    n = table.shape[1]
    return ConjugatePosterior(np.zeros(n), np.eye(n) / 10, np.asarray(NOISE))


@both_features
def test_posterior_variance_falls_as_one_over_n(features: str) -> None:
    """Slope of log trace(Sigma_N) against log N over N = 500 to 32,000: -1 within 0.05.

    The trace scatters by about 1/sqrt(N rho_min), 6 % at the smallest N, which moves the slope by 0.015.
    """
    table = FEATURES[features]
    model = model_of(table)
    omega = np.ones(table.shape[1])
    traces = [np.trace(posterior_given_omega(model, statistics_of(table, n, 1), omega).covariance) for n in SIZES]
    slope = np.polyfit(np.log(SIZES), np.log(traces), 1)[0]
    assert abs(slope + 1) < 0.05


@both_features
def test_predictive_mean_tends_to_the_projected_bellman_operator(features: str) -> None:
    """For a fixed omega the posterior mean nears the projection of the true backup (with full features, the backup).

    The squared distance, averaged over 40 data sets, falls as 1/N: slope -1. An average over 40 data sets of a squared
    error with about 3 to 6 degrees of freedom scatters by some 10 %, the slope by 0.035; 0.15 is allowed.
    """
    table = FEATURES[features]
    model, omega = model_of(table), np.linspace(-2, 3, table.shape[1])
    target = table @ projected_operator(table, omega)
    squared = [
        np.mean(
            [
                np.sum(
                    RHO
                    * (table @ posterior_given_omega(model, statistics_of(table, n, 100 + k), omega).mean - target) ** 2
                )
                for k in range(40)
            ]
        )
        for n in SIZES
    ]
    assert abs(np.polyfit(np.log(SIZES), np.log(squared), 1)[0] + 1) < 0.15
    assert squared[-1] < 1e-3
    if features == "full":
        np.testing.assert_allclose(target, MEAN_REWARD + GAMMA * P @ (table @ omega), rtol=1e-9)


@both_features
def test_msbbe_tends_to_the_mspbe(features: str) -> None:
    """At a fixed omega, within 2 % of the exact MSPBE at a million transitions (standard error below 0.4 %)."""
    table = FEATURES[features]
    omega = np.linspace(-2, 3, table.shape[1])
    exact = float(linear_mspbe(exact_statistics(table), omega))
    gap = table @ omega - table @ projected_operator(table, omega)
    np.testing.assert_allclose(exact, 0.5 * np.sum(RHO * gap**2), rtol=1e-9)  # the definition
    statistics = statistics_of(table, 1_000_000, 7)
    second_moment = table.T @ (RHO[:, None] * table)
    msbbe = float(linear_msbbe(model_of(table), statistics, omega, second_moment))
    assert abs(msbbe / exact - 1) < 0.02
    s = draw(1000, 3)[0]
    np.testing.assert_allclose(feature_second_moment(table[s]), table[s].T @ table[s] / 1000)


@both_features
def test_bbo_tends_to_the_td_fixed_point(features: str) -> None:
    """The minimum of the MSPBE: with full features the true values, with fewer the projected fixed point."""
    table = FEATURES[features]
    s, r, s_next = draw(1_000_000, 5)
    model = bb.LinearBBO().fit(table[s], r, table[s_next], GAMMA)
    exact = exact_statistics(table)
    fixed_point = np.linalg.solve(exact.gram - exact.cross, exact.moment)
    assert float(linear_mspbe(exact, fixed_point)) < 1e-20
    _, std = model.predict(table, return_std="value")
    assert (np.abs(table @ (model.omega_ - fixed_point)) < 5 * std).all()
    assert np.abs(table @ (model.omega_ - fixed_point)).max() < 0.02
    truth = np.linalg.solve(np.eye(STATES) - GAMMA * P, MEAN_REWARD)
    if features == "full":
        np.testing.assert_allclose(table @ fixed_point, truth, rtol=1e-9)
    else:
        assert np.abs(table @ fixed_point - truth).max() > 0.1  # misspecified, and not the truth


@pytest.mark.parametrize("method", [GTD2, TDC])
def test_tdc_and_gtd2_have_the_limit_of_bbo(method: type, x64: None) -> None:
    """Both minimise the MSPBE: the mean of the second half of 400,000 iterates is within 0.05 of the fixed point.

    Steps are constant, so the iterates scatter around it; their mean does not. The auxiliary weights move on the faster
    timescale (ratio 4), as theory asks.
    """
    table = FEATURES["impoverished"]
    s, r, s_next = draw(400_000, 11)
    estimator = method(3, 0.01, 4.0)
    transitions = Transition(
        observation=jnp.asarray(table[s]),
        action=None,
        reward=jnp.asarray(r),
        discount=jnp.full(len(r), GAMMA),
        next_observation=jnp.asarray(table[s_next]),
        weight=jnp.ones(len(r)),
    )
    key = jax.random.key(0)

    def step(state, transition):
        state, _ = estimator.update(key, state, transition)
        return state, state.omega

    _, omegas = jax.jit(lambda t: jax.lax.scan(step, estimator.init(key), t))(transitions)
    exact = exact_statistics(table)
    fixed_point = np.linalg.solve(exact.gram - exact.cross, exact.moment)
    tail = np.asarray(omegas[200_000:]).mean(axis=0)
    assert np.abs(table @ (tail - fixed_point)).max() < 0.05
    assert np.abs(table @ fixed_point).max() > 1.0  # it had some way to go
