"""The benchmark's methods against the weights its own implementation reaches, at every checkpoint, to 1e-8.

Hyper-parameters are the benchmark's for these two tasks (Dann et al. 2014, as the paper's tables use them).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.conftest import GOLDEN
from tests.evaluation.test_golden_linear import relative_error, transitions_of

from bayesbellman.core.timescales import ConstantStep, PolynomialDecay
from bayesbellman.core.types import Transition
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.gradient_td import GTD2, TD, TDC, DabneyStep
from bayesbellman.evaluation.linear_bbo import RecursiveLinearBBO
from bayesbellman.evaluation.lstd import LSTD, LSTDPlus
from bayesbellman.evaluation.residual import BRM, BatchBRM, TraceBRM
from bayesbellman.posterior.conjugate import ConjugatePosterior

KEY = jax.random.key(0)
METHODS = {
    ("boyan", "td"): lambda: TD(4, PolynomialDecay(10.0, 0.5), as_published=True),
    ("boyan", "tdc"): lambda: TDC(4, 0.2, 1e-4, trace_decay=1.0),
    ("boyan", "gtd2"): lambda: GTD2(4, 0.5, 1.0),
    ("boyan", "lstd_plus"): lambda: LSTDPlus(4, 1e4, 0.8, weighting="successor"),
    ("boyan", "lstd"): lambda: LSTD(4, weighting="successor"),
    ("boyan", "brm"): lambda: BRM(4, 100.0),
    ("lqr_full_offpolicy", "td"): lambda: TD(11, ConstantStep(0.002), 0.2, as_published=True),
    ("lqr_full_offpolicy", "tdc"): lambda: TDC(11, 0.003, 0.1, weight_zeta=True),
    ("lqr_full_offpolicy", "gtd2"): lambda: GTD2(11, 0.001, 1.0),
    ("lqr_full_offpolicy", "lstd_plus"): lambda: LSTDPlus(11, 10.0),
    ("lqr_full_offpolicy", "lstd"): lambda: LSTD(11, weighting="successor"),
    ("lqr_full_offpolicy", "brm"): lambda: BatchBRM(11),
}


def load(task: str) -> dict[str, np.ndarray]:
    with np.load(GOLDEN / f"{task}.npz", allow_pickle=False) as file:
        return dict(file)


def run(estimator: AbstractEstimator, transitions: Transition, restarts: np.ndarray) -> jax.Array:
    """omega after each transition."""
    units = jnp.eye(transitions.observation.shape[1])

    def step(state, inputs):
        transition, restart = inputs
        begun = estimator.begin_episode(state)
        state = jax.tree.map(lambda a, b: jnp.where(restart, a, b), begun, state)
        state, _ = estimator.update(KEY, state, transition)
        return state, estimator.value(state, units)

    scan = jax.jit(lambda t, r: jax.lax.scan(step, estimator.init(KEY), (t, r))[1])
    return scan(transitions, jnp.asarray(restarts))


@pytest.mark.parametrize(("task", "method"), METHODS, ids=["-".join(name) for name in METHODS])
def test_weights_of_the_benchmark(task: str, method: str, x64: None) -> None:
    golden = load(task)
    omegas = run(METHODS[task, method](), transitions_of(golden), golden["restarts"])
    num_features = golden["phi"].shape[1]
    for count, expected in zip(golden["checkpoints"].tolist(), golden[f"omega_{method}"], strict=True):
        if method in ("lstd", "brm") and task.startswith("lqr") and count < 5 * num_features:
            continue  # a pseudo-inverse of a system with fewer independent transitions than features
        if method == "lstd" and count < 10:
            continue
        assert relative_error(omegas[count - 1], expected) < 1e-8, count


def test_lstd_plus_without_a_trace_is_bbo(x64: None) -> None:
    """The paper's tables tie on four tasks because these two rows are one estimator."""
    golden = load("lqr_full_offpolicy")
    transitions = jax.tree.map(lambda x: x[:500], transitions_of(golden))
    bbo = RecursiveLinearBBO(ConjugatePosterior.isotropic(11, 10.0))
    none = np.zeros(500, dtype=bool)
    np.testing.assert_allclose(
        run(LSTDPlus(11, 10.0), transitions, none), run(bbo, transitions, none), rtol=1e-8, atol=1e-8
    )


def random_walk(num_rows: int = 40, num_features: int = 3) -> Transition:
    """One on-policy trajectory: each successor is the next row's state."""
    v = np.random.default_rng(0).normal(size=(num_rows + 1, num_features))
    return Transition(
        observation=jnp.asarray(v[:-1]),
        action=None,
        reward=jnp.asarray(np.random.default_rng(1).normal(size=num_rows)),
        discount=jnp.full(num_rows, 0.9),
        next_observation=jnp.asarray(v[1:]),
        weight=jnp.ones(num_rows),
    )


def off_policy(walk: Transition) -> Transition:
    """The same with importance weights that differ, and ends."""
    rows = walk.reward.shape[0]
    weights = jnp.asarray(np.random.default_rng(2).uniform(0.3, 2.0, size=rows))
    return eqx.tree_at(lambda t: (t.discount, t.weight), walk, (walk.discount.at[5::11].set(0.0), weights))


@pytest.mark.parametrize("weighting", ["everything", "successor"])
def test_lstd_plus_with_a_trace_and_weights_is_its_system_written_out(weighting: str, x64: None) -> None:
    """The trace hands on ``lambda gamma w`` of itself, nothing beyond an end or a restart (Dann et al. 2014)."""
    walk, restarts = off_policy(random_walk()), np.arange(40) % 15 == 0
    w, gamma = np.asarray(walk.weight), np.asarray(walk.discount)
    system, rhs, inherited = np.eye(3) / 50.0, np.zeros(3), np.zeros(3)
    for i in range(40):
        v, ahead, r = (np.asarray(x[i]) for x in (walk.observation, walk.next_observation, walk.reward))
        trace = v + (0 if restarts[i] else inherited)
        on_all, on_successor = (w[i], 1.0) if weighting == "everything" else (1.0, w[i])
        system += on_all * np.outer(trace, v - gamma[i] * on_successor * ahead)
        rhs += w[i] * r * trace
        inherited = 0.6 * gamma[i] * w[i] * trace
    omega = run(LSTDPlus(3, 50.0, 0.6, weighting), walk, restarts)[-1]
    np.testing.assert_allclose(omega, np.linalg.solve(system, rhs), rtol=1e-8)


@pytest.mark.parametrize("trace_decay", [0.0, 0.6])
def test_trace_brm_is_least_squares_on_residuals_summed_ahead(trace_decay: float, x64: None) -> None:
    """Against the batch problem written out: residuals sum_{j>=i} (lambda gamma)^(j-i) (d_j omega - r_j), a ridge."""
    walk = random_walk()
    online = run(TraceBRM(3, 50.0, trace_decay), walk, np.zeros(40, dtype=bool))[-1]
    d = np.asarray(walk.observation - 0.9 * walk.next_observation)
    ahead = np.triu((trace_decay * 0.9) ** np.maximum(np.arange(40)[None, :] - np.arange(40)[:, None], 0))
    features, targets = ahead @ d, ahead @ np.asarray(walk.reward)
    expected = np.linalg.solve(features.T @ features + np.eye(3) / 50.0, features.T @ targets)
    np.testing.assert_allclose(online, expected, rtol=1e-8)


def test_brm_with_weights_is_its_least_squares_written_out(x64: None) -> None:
    """A weight counts its row of ``d omega = r`` so often; nothing follows an end."""
    walk = off_policy(random_walk())
    d = np.asarray(walk.observation - walk.discount[:, None] * walk.next_observation)
    weighted = np.asarray(walk.weight)[:, None] * d
    rhs, none = weighted.T @ np.asarray(walk.reward), np.zeros(40, dtype=bool)
    ridge = np.linalg.solve(weighted.T @ d + np.eye(3) / 50.0, rhs)
    np.testing.assert_allclose(run(BRM(3, 50.0), walk, none)[-1], ridge, rtol=1e-8)
    np.testing.assert_allclose(run(BatchBRM(3), walk, none)[-1], np.linalg.solve(weighted.T @ d, rhs), rtol=1e-8)


def test_trace_brm_with_weights_multiplies_them_along_the_trace(x64: None) -> None:
    """Scherrer and Geist's Algorithm 4: ``d = v - gamma w v'``, targets ``w r``, each step ahead ``lambda gamma w``."""
    walk = off_policy(random_walk())
    w, gamma = np.asarray(walk.weight), np.asarray(walk.discount)
    d = np.asarray(walk.observation) - (gamma * w)[:, None] * np.asarray(walk.next_observation)
    ahead = np.array([[np.prod(0.6 * (gamma * w)[i:j]) if j >= i else 0.0 for j in range(40)] for i in range(40)])
    features, targets = ahead @ d, ahead @ (w * np.asarray(walk.reward))
    expected = np.linalg.solve(features.T @ features + np.eye(3) / 50.0, features.T @ targets)
    np.testing.assert_allclose(run(TraceBRM(3, 50.0, 0.6), walk, np.zeros(40, dtype=bool))[-1], expected, rtol=1e-8)


def test_trace_brm_drops_its_trace_at_the_start_of_an_episode(x64: None) -> None:
    """With a restart at every transition nothing is summed ahead: plain BRM. The benchmark's reset differs a little."""
    walk, always = random_walk(), np.ones(40, dtype=bool)
    plain = run(BRM(3, 50.0), walk, always)
    np.testing.assert_allclose(run(TraceBRM(3, 50.0, 0.6), walk, always), plain, rtol=1e-8)
    published = run(TraceBRM(3, 50.0, 0.6, as_published=True), walk, always)
    assert relative_error(published[-1], np.asarray(plain[-1])) > 1e-6


def test_dabney_step_by_hand(x64: None) -> None:
    """alpha_0 = 1 is cut to 1/|z (gamma v' - v)|, and never grows again."""
    transitions = Transition(
        observation=jnp.array([[2.0], [0.1]]),
        action=None,
        reward=jnp.array([1.0, 1.0]),
        discount=jnp.array([0.5, 0.5]),
        next_observation=jnp.array([[1.0], [0.1]]),
        weight=jnp.ones(2),
    )
    omegas = run(TD(1, DabneyStep()), transitions, np.array([True, False]))
    first = (1 / 3) * 1.0 * 2.0  # |2 (0.5 - 2)| = 3
    second = first + (1 / 3) * (1.0 + 0.05 * first - 0.1 * first) * 0.1
    np.testing.assert_allclose(omegas[:, 0], [first, second])


def test_td_traces_by_hand(x64: None) -> None:
    """lambda 0.5, gamma 0.8, weights 2: the trace carries 0.4 of the one before; a restart drops it."""
    transitions = Transition(
        observation=jnp.eye(2),
        action=None,
        reward=jnp.array([0.0, 1.0]),
        discount=jnp.array([0.8, 0.8]),
        next_observation=jnp.zeros((2, 2)),
        weight=jnp.array([2.0, 2.0]),
    )
    td = TD(2, ConstantStep(1.0), 0.5)
    np.testing.assert_allclose(run(td, transitions, np.array([True, False]))[-1], [2 * 0.4 * 2, 2.0])
    np.testing.assert_allclose(run(td, transitions, np.array([True, True]))[-1], [0.0, 2.0])
    published = TD(2, ConstantStep(1.0), 0.5, as_published=True)  # ignores the first weight
    np.testing.assert_allclose(run(published, transitions, np.array([True, False]))[-1], [2 * 0.4 * 1, 2.0])


@pytest.mark.parametrize("weight_zeta", [False, True])
def test_tdc_with_half_a_trace_by_hand(weight_zeta: bool) -> None:
    """The benchmark has lambda 0 and 1 only. Two steps with lambda 0.5 and weights 2 and 3, formula by formula."""
    rng = np.random.default_rng(3)
    alpha, mu, decay = 0.1, 2.0, 0.5
    estimator = TDC(2, alpha, mu, decay, weight_zeta)
    state = estimator.init(jax.random.key(0))
    omega, zeta, inherited = np.zeros(2), np.zeros(2), np.zeros(2)
    for reward, gamma, w in ((1.0, 0.9, 2.0), (-0.5, 0.8, 3.0)):
        v, v_next = rng.normal(size=(2, 2)).astype(np.float32)
        state, _ = estimator.update(
            jax.random.key(0),
            state,
            Transition(*map(jnp.asarray, (v, v, np.float32(reward), np.float32(gamma), v_next, np.float32(w)))),
        )
        delta = reward + gamma * v_next @ omega - v @ omega
        z = w * (v + inherited)
        correction = gamma * (1 - decay) * (z @ zeta) * v_next
        pull = (w if weight_zeta else 1.0) * (v @ zeta) * v
        omega, zeta = omega + alpha * (delta * z - correction), zeta + mu * alpha * (delta * z - pull)
        inherited = decay * gamma * z
    np.testing.assert_allclose(state.omega, omega, rtol=1e-5)
    np.testing.assert_allclose(state.zeta, zeta, rtol=1e-5)
