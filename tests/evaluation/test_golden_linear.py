"""BBO's weights against the reference implementation's, to 1e-8, by recursion, by blocks and by stream.

Where 1e-8 may be asked: the rounding of the data and of one solve, amplified by the condition number of the system,
must stay below it. With ``cond * n * eps * 10 <= 1e-8`` (10 for the accumulation) a system counts as well conditioned.
Every checkpoint of both tasks passes that test.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.conftest import GOLDEN

import bayesbellman as bb
from bayesbellman.core.types import Transition
from bayesbellman.evaluation.linear_bbo import (
    BlockLinearBBO,
    RecursiveLinearBBO,
    UninformativeRecursiveLinearBBO,
)
from bayesbellman.posterior.conjugate import ConjugatePosterior

KEY = jax.random.key(0)
TOLERANCE = 1e-8


def well_conditioned(condition_number: float, num_features: int) -> bool:
    return condition_number * num_features * np.finfo(float).eps * 10 <= TOLERANCE


def relative_error(omega: np.ndarray, reference: np.ndarray) -> float:
    return float(np.linalg.norm(np.asarray(omega) - reference) / max(np.linalg.norm(reference), 1e-300))


def arguments(golden: dict, rows: slice) -> tuple:
    gamma = float(golden["gamma"])
    return golden["phi"][rows], golden["rewards"][rows], golden["phi_next"][rows], gamma, golden["weights"][rows]


def transitions_of(golden: dict) -> Transition:
    return Transition(
        observation=jnp.asarray(golden["phi"]),
        action=None,
        reward=jnp.asarray(golden["rewards"]),
        discount=jnp.full(len(golden["rewards"]), float(golden["gamma"])),
        next_observation=jnp.asarray(golden["phi_next"]),
        weight=jnp.asarray(golden["weights"]),
    )


def references(golden: dict):
    return zip(golden["checkpoints"].tolist(), golden["omega_bbo_f64"], golden["omega_bbo_direct"], strict=True)


def test_every_checkpoint_is_well_conditioned(golden: dict) -> None:
    """So that the tests below may ask 1e-8 of each of them."""
    for count in golden["checkpoints"].tolist():
        model = bb.LinearBBO(float(golden["prior_eps"])).fit(*arguments(golden, slice(count)))
        assert well_conditioned(model.condition_number_, model.n_features_in_)


def test_recursion(golden: dict, x64: None) -> None:
    estimator = RecursiveLinearBBO(ConjugatePosterior.isotropic(golden["phi"].shape[1], float(golden["prior_eps"])))

    def step(state, transition):
        state, _ = estimator.update(KEY, state, transition)
        return state, state.omega

    _, omegas = jax.jit(lambda t: jax.lax.scan(step, estimator.init(KEY), t))(transitions_of(golden))
    for count, recursive, direct in references(golden):
        assert relative_error(omegas[count - 1], recursive) < TOLERANCE
        assert relative_error(omegas[count - 1], direct) < TOLERANCE


def test_blocks(golden: dict, x64: None) -> None:
    estimator = BlockLinearBBO(ConjugatePosterior.isotropic(golden["phi"].shape[1], float(golden["prior_eps"])))
    units = jnp.eye(golden["phi"].shape[1])
    transitions = transitions_of(golden)
    state, done = estimator.init(KEY), 0
    for count, recursive, _ in references(golden):
        state, _ = estimator.update(KEY, state, jax.tree.map(lambda x, a=done, b=count: x[a:b], transitions))
        done = count
        assert relative_error(estimator.value(state, units), recursive) < TOLERANCE


def test_the_door_by_fit_stream_and_partial_fit(golden: dict) -> None:
    online = bb.LinearBBO(float(golden["prior_eps"]))
    done = 0
    for count, recursive, _ in references(golden):
        whole = bb.LinearBBO(float(golden["prior_eps"])).fit(*arguments(golden, slice(count)))
        pieces = (arguments(golden, slice(a, min(a + 37, count))) for a in range(0, count, 37))
        streamed = bb.LinearBBO(float(golden["prior_eps"])).fit_stream(pieces)
        online.partial_fit(*arguments(golden, slice(done, count)))
        done = count
        for model in (whole, streamed, online):
            assert relative_error(model.omega_, recursive) < TOLERANCE
            assert relative_error(model.posterior_mean_, recursive) < TOLERANCE


@pytest.fixture
def boyan() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "boyan.npz", allow_pickle=False) as file:
        return dict(file)


def test_uninformative_prior_is_the_reference_lstd_on_policy(boyan: dict) -> None:
    """On-policy the reference's LSTD is the same estimator; off-policy it weights other terms."""
    for count, lstd in zip(boyan["checkpoints"].tolist(), boyan["omega_lstd"], strict=True):
        if count < 10:  # fewer independent transitions than features
            continue
        model = bb.LinearBBO(prior_variance=float("inf")).fit(*arguments(boyan, slice(count)))
        assert well_conditioned(model.condition_number_, 4)
        assert relative_error(model.omega_, lstd) < TOLERANCE


def test_uninformative_recursion_is_the_reference_lstd(boyan: dict, x64: None) -> None:
    estimator = UninformativeRecursiveLinearBBO(4)

    def step(state, transition):
        return estimator.update(KEY, state, transition)

    state, _ = jax.jit(lambda t: jax.lax.scan(step, estimator.init(KEY), t))(transitions_of(boyan))
    assert not bool(state.pending.any())
    assert relative_error(state.omega, boyan["omega_lstd"][-1]) < TOLERANCE
