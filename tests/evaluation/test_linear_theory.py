"""What the theory promises of linear BBO: one fixed point by every road, the MSBBE's gradient, the prior's limits."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.core.bellman import ExpectedBellman, pushforward
from bayesbellman.core.timescales import ConstantStep, PolynomialDecay
from bayesbellman.core.types import Transition
from bayesbellman.evaluation import linear_system as ls
from bayesbellman.evaluation.linear_bbo import (
    BlockLinearBBO,
    RecursiveLinearBBO,
    UninformativeRecursiveLinearBBO,
)
from bayesbellman.evaluation.linear_descent import StochasticLinearBBO
from bayesbellman.evaluation.objectives import (
    linear_msbbe,
    linear_msbbe_gradient,
    sampled_linear_msbbe_gradient,
)
from bayesbellman.posterior.conjugate import ConjugatePosterior

KEY = jax.random.key(0)
N, FEATURES = 60, 4


@pytest.fixture
def transitions(x64) -> Transition:
    """Off-policy weights, a terminal transition, successors correlated with their predecessors."""
    rng = np.random.default_rng(0)
    v = rng.normal(size=(N, FEATURES))
    v_next = 0.6 * v + 0.6 * rng.normal(size=(N, FEATURES))
    return Transition(
        observation=jnp.asarray(v),
        action=None,
        reward=jnp.asarray(rng.normal(size=N)),
        discount=jnp.where(jnp.arange(N) % 7 == 3, 0.0, 0.95),
        next_observation=jnp.asarray(v_next),
        weight=jnp.asarray(rng.uniform(0.2, 2.0, size=N)),
    )


@pytest.fixture
def model(x64) -> ConjugatePosterior:
    """A prior that is neither centred nor isotropic."""
    root = np.random.default_rng(1).normal(size=(FEATURES, FEATURES))
    return ConjugatePosterior(
        prior_mean=jnp.asarray([1.0, -1.0, 0.5, 0.0]),
        prior_precision=jnp.asarray(np.linalg.inv(root @ root.T + 0.5 * np.eye(FEATURES))),
        noise_variance=jnp.asarray(0.6),
    )


def learn(estimator, transitions: Transition):
    step = lambda state, transition: estimator.update(KEY, state, transition)  # noqa: E731
    return jax.lax.scan(step, estimator.init(KEY), transitions)[0]


def test_fixed_point_equals_the_posterior_mean_it_induces(model: ConjugatePosterior, transitions: Transition) -> None:
    """omega* = phi_omega*, the posterior being inferred from the very samples that omega* makes."""
    omega = ls.solve_fixed_point(model, ls.transition_statistics(transitions))
    bellman = ExpectedBellman(lambda omega, v_next, action: v_next @ omega)
    state, _ = model.update(KEY, model.init(KEY), pushforward(bellman, omega, transitions))
    np.testing.assert_allclose(state.mean, omega, rtol=1e-10)
    via_statistics = ls.posterior_given_omega(model, ls.transition_statistics(transitions), omega)
    np.testing.assert_allclose(via_statistics.precision, state.precision, rtol=1e-10)
    np.testing.assert_allclose(via_statistics.information, state.information, rtol=1e-10)


def test_posterior_moves_with_omega_away_from_the_fixed_point(
    model: ConjugatePosterior, transitions: Transition
) -> None:
    """D_omega depends on omega: for another omega the posterior mean is another, by the operator's Jacobian."""
    statistics = ls.transition_statistics(transitions)
    omega = jnp.array([0.3, 2.0, -1.0, 0.0])
    bellman = ExpectedBellman(lambda omega, v_next, action: v_next @ omega)

    def phi(omega: jax.Array) -> jax.Array:
        return model.update(KEY, model.init(KEY), pushforward(bellman, omega, transitions))[0].mean

    np.testing.assert_allclose(ls.posterior_given_omega(model, statistics, omega).mean, phi(omega), rtol=1e-9)
    covariance = ls.posterior_given_omega(model, statistics, omega).covariance
    np.testing.assert_allclose(ls.operator_jacobian(model, statistics, covariance), jax.jacobian(phi)(omega), rtol=1e-8)


def test_recursion_blocks_and_direct_solve_agree(model: ConjugatePosterior, transitions: Transition) -> None:
    direct = ls.solve_fixed_point(model, ls.transition_statistics(transitions))
    recursive = learn(RecursiveLinearBBO(model), transitions)
    blocks = jax.tree.map(lambda x: x.reshape(6, 10, *x.shape[1:]), transitions)
    blocked = learn(BlockLinearBBO(model), blocks)
    np.testing.assert_allclose(recursive.omega, direct, rtol=1e-10)
    inputs = transitions.observation
    np.testing.assert_allclose(BlockLinearBBO(model).value(blocked, inputs), inputs @ direct, rtol=1e-9)
    assert int(recursive.count) == N
    assert float(blocked.count) == N


def lstd_of(transitions: Transition, count: int) -> np.ndarray:
    first = jax.tree.map(lambda x: np.asarray(x[:count]), transitions)
    weighted = first.weight[:, None] * first.observation
    system = weighted.T @ (first.observation - first.discount[:, None] * first.next_observation)
    return np.linalg.solve(system, weighted.T @ first.reward)


@pytest.mark.parametrize("kappa", [0.1, 1.0, 10.0])
def test_uninformative_recursion_is_lstd(transitions: Transition, kappa: float) -> None:
    """For any kappa: at every transition from the one on at which nothing of the start is left."""
    estimator = UninformativeRecursiveLinearBBO(FEATURES, kappa)

    def step(state, transition):
        state, metrics = estimator.update(KEY, state, transition)
        return state, (state.omega, metrics["pending"])

    _, (omegas, pending) = jax.lax.scan(step, estimator.init(KEY), transitions)
    assert pending[0] >= FEATURES - 1  # at most one direction an update
    clean = np.flatnonzero(np.asarray(pending) == 0) + 1
    assert clean[0] < 30
    for count in clean.tolist():
        np.testing.assert_allclose(omegas[count - 1], lstd_of(transitions, count), rtol=1e-7)


def test_uninformative_recursion_waits_for_the_data(x64: None) -> None:
    """One-hot features met in an order that the paper's rule (direction i after transition i) cannot take.

    It would divide by zero at the first transition and never recover; here the directions wait until they were seen.
    """
    states = np.array([2, 2, 1, 2, 0, 1, 2, 0, 0, 1] * 3)
    table = np.eye(3)
    ring = Transition(
        observation=jnp.asarray(table[states]),
        action=None,
        reward=jnp.asarray(states, dtype=float),
        discount=jnp.full(30, 0.9),
        next_observation=jnp.asarray(table[(states + 1) % 3]),
        weight=jnp.ones(30),
    )
    state = learn(UninformativeRecursiveLinearBBO(3), ring)
    assert not bool(state.pending.any())
    np.testing.assert_allclose(state.omega, lstd_of(ring, 30), rtol=1e-9)


def test_uninformative_prior_is_the_limit_of_wide_priors(transitions: Transition) -> None:
    statistics = ls.transition_statistics(transitions)
    flat = ls.solve_fixed_point(ConjugatePosterior.isotropic(FEATURES, float("inf")), statistics)
    wide = ls.solve_fixed_point(ConjugatePosterior.isotropic(FEATURES, 1e9), statistics)
    np.testing.assert_allclose(wide, flat, rtol=1e-7)


def test_msbbe_and_its_gradient_vanish_at_the_fixed_point(model: ConjugatePosterior, transitions: Transition) -> None:
    statistics = ls.transition_statistics(transitions)
    second_moment = ls.feature_second_moment(transitions.observation)
    omega = ls.solve_fixed_point(model, statistics)
    assert float(linear_msbbe(model, statistics, omega, second_moment)) < 1e-25
    np.testing.assert_allclose(linear_msbbe_gradient(model, statistics, omega, second_moment), 0.0, atol=1e-12)


def test_closed_form_gradient_equals_automatic_differentiation(
    model: ConjugatePosterior, transitions: Transition
) -> None:
    """Against autodiff of the MSBBE as it is defined: through push-forward, posterior and predictive mean."""
    bellman = ExpectedBellman(lambda omega, v_next, action: v_next @ omega)
    inputs = transitions.observation

    def msbbe(omega: jax.Array) -> jax.Array:
        state, _ = model.update(KEY, model.init(KEY), pushforward(bellman, omega, transitions))
        return 0.5 * jnp.mean((inputs @ omega - model.predict(state, inputs).mean) ** 2)

    omega = jnp.array([0.3, 2.0, -1.0, 0.0])
    statistics, second_moment = ls.transition_statistics(transitions), ls.feature_second_moment(inputs)
    np.testing.assert_allclose(linear_msbbe(model, statistics, omega, second_moment), msbbe(omega), rtol=1e-10)
    closed = linear_msbbe_gradient(model, statistics, omega, second_moment)
    np.testing.assert_allclose(closed, jax.grad(msbbe)(omega), rtol=1e-9)


def test_paper_bracket_would_be_wrong(model: ConjugatePosterior, transitions: Transition) -> None:
    """Erratum: with Sigma_N outside the bracket, as printed, the gradient is another vector."""
    statistics = ls.transition_statistics(transitions)
    second_moment = ls.feature_second_moment(transitions.observation)
    omega = jnp.array([0.3, 2.0, -1.0, 0.0])
    posterior = ls.posterior_given_omega(model, statistics, omega)
    bracket = jnp.eye(FEATURES) - statistics.cross.T / model.noise_variance
    printed = bracket @ posterior.covariance @ second_moment @ (omega - posterior.mean)
    ours = linear_msbbe_gradient(model, statistics, omega, second_moment)
    assert float(jnp.linalg.norm(printed - ours) / jnp.linalg.norm(ours)) > 0.1


@pytest.mark.parametrize("use_baseline", [True, False])
def test_two_sample_gradient_is_unbiased(
    model: ConjugatePosterior, transitions: Transition, use_baseline: bool
) -> None:
    """The mean of 200,000 two-sample gradients is the closed form within 4 of their own standard errors, per entry.

    With the paper's form (no baseline) and with ours; 8 comparisons at 4 errors pass by chance with probability 0.9995,
    and the key is fixed.
    """
    draws = 200_000
    statistics, inputs = ls.transition_statistics(transitions), transitions.observation[:5]
    omega = jnp.array([0.3, 2.0, -1.0, 0.0])

    def one(key: jax.Array) -> jax.Array:
        return sampled_linear_msbbe_gradient(key, model, statistics, omega, inputs, use_baseline)

    gradients = jax.jit(jax.vmap(one))(jax.random.split(KEY, draws))
    closed = linear_msbbe_gradient(model, statistics, omega, ls.feature_second_moment(inputs))
    error = gradients.std(0) / np.sqrt(draws)
    assert (np.abs(np.asarray(gradients.mean(0) - closed)) < 4 * np.asarray(error)).all()


def test_baseline_lowers_the_variance(model: ConjugatePosterior, transitions: Transition) -> None:
    statistics, inputs = ls.transition_statistics(transitions), transitions.observation
    omega = jnp.array([0.3, 2.0, -1.0, 0.0])

    def spread(use_baseline: bool) -> float:
        one = jax.vmap(lambda k: sampled_linear_msbbe_gradient(k, model, statistics, omega, inputs, use_baseline))
        return float(jax.jit(one)(jax.random.split(KEY, 20_000)).var(0).sum())

    assert spread(True) < 0.5 * spread(False)


def test_stochastic_descent_reaches_the_fixed_point(model: ConjugatePosterior, transitions: Transition) -> None:
    """Repeated passes over one batch; the posterior then belongs to the repeated data, and so does the fixed point."""
    updates = 10_000
    estimator = StochasticLinearBBO(model, PolynomialDecay(1.0, 0.6))
    start = estimator.init(KEY)
    step = lambda state, key: estimator.update(key, state, transitions)  # noqa: E731
    state, metrics = jax.jit(lambda: jax.lax.scan(step, start, jax.random.split(KEY, updates)))()
    target = ls.solve_fixed_point(model, state.statistics)
    assert float(jnp.linalg.norm(state.omega - target)) < 0.02 * float(jnp.linalg.norm(start.omega - target))
    assert metrics["gradient_norm"].shape == (updates,)


def test_steps_of_descent_by_hand(model: ConjugatePosterior, transitions: Transition) -> None:
    """The second step is ``2^-0.7`` of the first's size; what leaves the ball comes back to its surface."""
    free, ball = (StochasticLinearBBO(model, PolynomialDecay(0.1, 0.7), radius=r) for r in (float("inf"), 0.3))
    state = free.init(KEY)
    for step in (0.1, 0.1 * 2**-0.7):
        before, (state, _) = state, free.update(KEY, state, transitions)
        inputs = transitions.observation
        weights = transitions.weight
        gradient = sampled_linear_msbbe_gradient(KEY, model, state.statistics, before.omega, inputs, weights=weights)
        np.testing.assert_allclose(state.omega, before.omega - step * gradient, rtol=1e-10)
    kept, _ = ball.update(KEY, ball.init(KEY), transitions)
    np.testing.assert_allclose(jnp.linalg.norm(kept.omega), 0.3, rtol=1e-10)


def test_descent_is_of_the_policy_in_question(model: ConjugatePosterior, transitions: Transition) -> None:
    """Off-policy, the mean step of 50,000 follows the gradient of the MSBBE weighted for the policy, within 4 of its
    own standard errors in each entry (by chance with probability 0.9997; keys are fixed), and not the unweighted one,
    which is further than 20 away."""
    draws, step = 50_000, 0.1
    estimator = StochasticLinearBBO(model, PolynomialDecay(step, 0.7))
    begun = eqx.tree_at(lambda state: state.omega, estimator.init(KEY), jnp.array([0.3, 2.0, -1.0, 0.0]))
    after = jax.jit(jax.vmap(lambda key: estimator.update(key, begun, transitions)[0].omega))
    gradients = (begun.omega - after(jax.random.split(KEY, draws))) / step
    statistics = ls.transition_statistics(transitions)
    error = np.asarray(gradients.std(0)) / np.sqrt(draws)

    def distance(weights: jax.Array | None) -> np.ndarray:
        moment = ls.feature_second_moment(transitions.observation, weights)
        closed = linear_msbbe_gradient(model, statistics, begun.omega, moment)
        return np.abs(np.asarray(gradients.mean(0) - closed)) / error

    assert (distance(transitions.weight) < 4).all()
    assert distance(None).max() > 20
    v, w = np.asarray(transitions.observation), np.asarray(transitions.weight)
    by_hand = sum(w[i] * np.outer(v[i], v[i]) for i in range(N)) / N
    np.testing.assert_allclose(ls.feature_second_moment(v, w), by_hand, rtol=1e-12)


def test_descent_refuses_step_sizes_that_cannot_converge(model: ConjugatePosterior) -> None:
    with pytest.raises(ValueError, match=r"step_size: .* squares is infinite"):
        StochasticLinearBBO(model, ConstantStep(0.1))
    StochasticLinearBBO(model, ConstantStep(0.1), allow_violation=True)


def test_fixed_point_covariance_is_that_of_the_sampled_operators(
    model: ConjugatePosterior, transitions: Transition
) -> None:
    """Draw an operator, find *its* fixed point, repeat: an affine map of Gaussian draws, so the covariance is exact.

    An operator keeps its deviation e from the mean for every omega: B(omega) = phi_omega + e. Its fixed point is found
    here by solving, with nothing of the formula under test, and the covariance by propagating unit deviations.
    """
    statistics = ls.transition_statistics(transitions)
    matrix, _ = ls.fixed_point_system(model, statistics)
    posterior = ls.posterior_given_omega(model, statistics, jnp.zeros(FEATURES))
    jacobian = ls.operator_jacobian(model, statistics, posterior.covariance)

    def fixed_point(deviation: jax.Array) -> jax.Array:
        return jnp.linalg.solve(jnp.eye(FEATURES) - jacobian, posterior.mean + deviation)

    root = np.linalg.cholesky(np.asarray(posterior.covariance))
    moved = np.stack([fixed_point(jnp.asarray(root[:, i])) - fixed_point(jnp.zeros(FEATURES)) for i in range(FEATURES)])
    np.testing.assert_allclose(fixed_point(jnp.zeros(FEATURES)), ls.solve_fixed_point(model, statistics), rtol=1e-9)
    covariance = ls.fixed_point_covariance(model, statistics, jnp.linalg.inv(matrix))
    np.testing.assert_allclose(covariance, moved.T @ moved, rtol=1e-8)


def test_numpy_and_jax_give_the_same(model: ConjugatePosterior, transitions: Transition) -> None:
    to_numpy = lambda tree: jax.tree.map(np.asarray, tree)  # noqa: E731
    by_numpy = ls.solve_fixed_point(to_numpy(model), ls.transition_statistics(to_numpy(transitions)))
    assert isinstance(by_numpy, np.ndarray)
    np.testing.assert_allclose(by_numpy, ls.solve_fixed_point(model, ls.transition_statistics(transitions)), rtol=1e-12)
