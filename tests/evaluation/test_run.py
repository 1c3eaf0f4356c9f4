"""The runner: errors at checkpoints against loops written out, blocks against single transitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.core.timescales import ConstantStep
from bayesbellman.core.types import Transition
from bayesbellman.data.interact import Experience
from bayesbellman.data.problems import EvaluationMeasure
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.blocks import BLOCK, FROM_FEATURES
from bayesbellman.evaluation.gradient_td import TD
from bayesbellman.evaluation.linear_bbo import BlockLinearBBO, RecursiveLinearBBO
from bayesbellman.evaluation.lstd import LSTD, LSTDPlus
from bayesbellman.evaluation.residual import BRM, BatchBRM
from bayesbellman.evaluation.run import Checkpoints, LinearValueError, learning_curve, learning_curves
from bayesbellman.evaluation.summed_system import least_norm_solution
from bayesbellman.nn.features import TableFeatures
from bayesbellman.posterior.conjugate import ConjugatePosterior

KEY = jax.random.key(0)
STATES, RUNS, STEPS = 6, 3, 25
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(STATES, 3))
MEASURE = EvaluationMeasure(RNG.dirichlet(np.ones(STATES)), TABLE, RNG.normal(size=STATES))
PATHS = RNG.integers(STATES, size=(RUNS, STEPS + 1))
REWARDS = RNG.normal(size=(RUNS, STEPS))
WEIGHTS = RNG.uniform(0.5, 2.0, size=(RUNS, STEPS))
RESTARTS = np.broadcast_to(np.arange(STEPS) % 10 == 0, (RUNS, STEPS))


def experience() -> Experience:
    transitions = Transition(
        observation=jnp.asarray(PATHS[:, :-1]),
        action=None,
        reward=jnp.asarray(REWARDS),
        discount=jnp.full((RUNS, STEPS), 0.9),
        next_observation=jnp.asarray(PATHS[:, 1:]),
        weight=jnp.asarray(WEIGHTS),
    )
    return Experience(transitions, jnp.asarray(RESTARTS))


def td_by_hand(run: int, alpha: float, decay: float) -> list[np.ndarray]:
    """omega before any transition and after each, in plain NumPy."""
    omega, trace, omegas = np.zeros(3), np.zeros(3), [np.zeros(3)]
    for t in range(STEPS):
        v, v_next = TABLE[PATHS[run, t]], TABLE[PATHS[run, t + 1]]
        trace = np.zeros(3) if RESTARTS[run, t] else trace
        trace = WEIGHTS[run, t] * (v + trace)
        omega = omega + alpha * (REWARDS[run, t] + 0.9 * v_next @ omega - v @ omega) * trace
        trace = decay * 0.9 * trace
        omegas.append(omega)
    return omegas


def rmse_by_hand(omega: np.ndarray) -> float:
    return float(np.sqrt(np.sum(MEASURE.weights * (TABLE @ omega - MEASURE.values) ** 2)))


@pytest.mark.parametrize("marks", [[0, 5, 10, 15, 20], [1, 9, 17, 25], [5, 10], [7]])
def test_errors_at_checkpoints_against_a_loop(marks: list[int], x64: None) -> None:
    curves = learning_curves(
        KEY,
        TD(3, ConstantStep(0.1), 0.5),
        experience(),
        TableFeatures(jnp.asarray(TABLE)),
        LinearValueError.over(MEASURE),
        Checkpoints.at(np.array(marks)),
    )
    expected = [[rmse_by_hand(td_by_hand(run, 0.1, 0.5)[mark]) for mark in marks] for run in range(RUNS)]
    np.testing.assert_allclose(curves, expected, rtol=1e-10)


def test_one_curve_is_a_row_of_many(x64: None) -> None:
    arguments = (TableFeatures(jnp.asarray(TABLE)), LinearValueError.over(MEASURE), Checkpoints.at(np.array([5, 10])))
    many = learning_curves(KEY, LSTD(3), experience(), *arguments)
    one = learning_curve(KEY, LSTD(3), jax.tree.map(lambda x: x[1], experience()), *arguments)
    np.testing.assert_allclose(many[1], one, rtol=1e-10)


def test_an_estimate_that_is_not_finite_is_nan(x64: None) -> None:
    curves = learning_curves(
        KEY,
        TD(3, ConstantStep(1e200)),
        experience(),
        TableFeatures(jnp.asarray(TABLE)),
        LinearValueError.over(MEASURE),
        Checkpoints.at(np.array([1, 13, 25])),
    )
    assert np.isnan(curves[:, -1]).all()


@pytest.mark.parametrize("marks", [[], [5, 4], [1, 2, 4], [-1, 0]])
def test_checkpoints_in_unequal_steps_are_refused(marks: list[int]) -> None:
    with pytest.raises(ValueError, match="rising in equal steps"):
        Checkpoints.at(np.array(marks, dtype=int))


def walk(num_rows: int, num_features: int) -> tuple[Transition, jax.Array]:
    rng = np.random.default_rng(1)
    transitions = Transition(
        observation=jnp.asarray(rng.normal(size=(num_rows, num_features))),
        action=None,
        reward=jnp.asarray(rng.normal(size=num_rows)),
        discount=jnp.full(num_rows, 0.9),
        next_observation=jnp.asarray(rng.normal(size=(num_rows, num_features))),
        weight=jnp.asarray(rng.uniform(0.1, 2.0, size=num_rows)),
    )
    return transitions, jnp.arange(num_rows) % 7 == 0


def large(num_features: int) -> dict[str, AbstractEstimator]:
    return {
        "bbo": RecursiveLinearBBO(ConjugatePosterior.isotropic(num_features, 10.0)),
        "lstd-plus": LSTDPlus(num_features, 10.0),
        "lstd-plus-trace": LSTDPlus(num_features, 10.0, 0.8, "successor"),
        "lstd": LSTD(num_features),
        "brm": BRM(num_features, 10.0),
        "brm-batch": BatchBRM(num_features),
    }


@pytest.mark.parametrize("name", large(2))
def test_blocks_reach_the_state_of_single_transitions(name: str, x64: None) -> None:
    """At a size where classes take blocks, and with a number of rows that fills no last block."""
    estimator = large(FROM_FEATURES)[name]
    transitions, restarts = walk(5 * BLOCK + 3, FROM_FEATURES)
    state = estimator.init(KEY)
    in_blocks = jax.jit(lambda *a: estimator.absorb(*a))(KEY, state, transitions, restarts)
    one_by_one = jax.jit(lambda *a: AbstractEstimator.absorb(estimator, *a))(KEY, state, transitions, restarts)
    for a, b in zip(jax.tree.leaves(in_blocks), jax.tree.leaves(one_by_one), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)


def test_block_bbo_runs_in_the_runner_too(x64: None) -> None:
    arguments = (
        experience(),
        TableFeatures(jnp.asarray(TABLE)),
        LinearValueError.over(MEASURE),
        Checkpoints.at(np.array([5, 10])),
    )
    model = ConjugatePosterior.isotropic(3, 10.0)
    np.testing.assert_allclose(
        learning_curves(KEY, BlockLinearBBO(model), *arguments),
        learning_curves(KEY, RecursiveLinearBBO(model), *arguments),
        rtol=1e-9,
    )


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_least_norm_solution_is_the_pseudo_inverse_s(rank: int, x64: None) -> None:
    rng = np.random.default_rng(rank)
    matrices = np.stack([rng.normal(size=(5, rank)) @ rng.normal(size=(rank, 5)) for _ in range(3)])
    rhs = np.stack([matrix @ rng.normal(size=5) for matrix in matrices])
    solved = jax.vmap(least_norm_solution)(jnp.asarray(matrices), jnp.asarray(rhs))
    expected = [np.linalg.pinv(matrix, rcond=1e-12) @ b for matrix, b in zip(matrices, rhs, strict=True)]
    np.testing.assert_allclose(solved, expected, rtol=1e-6, atol=1e-8)
