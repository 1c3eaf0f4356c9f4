"""Trials side by side: what each would be alone, and what becomes of one that diverges."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from bayesbellman.core.types import Transition
from bayesbellman.evaluation.nonlinear_td import NonlinearTD
from bayesbellman.evaluation.training import train
from bayesbellman.evaluation.trials import run_trials
from bayesbellman.nn.mlp import LinearFunction

SGD = optax.sgd(1.0)
PLACES = np.eye(2)


def draw(key: jax.Array) -> Transition:
    inputs = jax.random.normal(key, (64, 2), dtype=float)
    return Transition(inputs, None, inputs[:, 0], jnp.full(64, 0.5), jnp.zeros((64, 2)), jnp.ones(64))


def zeros(key: jax.Array) -> LinearFunction:
    return LinearFunction(jnp.zeros(2))


def make(setting) -> NonlinearTD:
    return NonlinearTD(zeros, "none", SGD, slow_size=setting["rate"])


def trials(rates: list[float], seeds: list[int], **changes):
    asked = {"steps": 40, "every": 10, "batch_size": 16, **changes}
    keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
    return run_trials(keys, make, {"rate": jnp.array(rates)}, draw, PLACES, np.array([1.0, 0.0]), **asked)


def test_settings_and_seeds_do_not_touch_each_other() -> None:
    together, alone = trials([0.1, 0.3], [4, 5]), trials([0.3], [5])
    np.testing.assert_allclose(together.errors[:, 1:, 1:], alone.errors, rtol=1e-4, atol=1e-7)
    np.testing.assert_array_equal(together.steps, [0, 10, 20, 30, 40])
    assert together.errors[0].ravel().tolist() == [0.5] * 4
    assert (together.errors[-1] < 0.05).all()
    assert (together.diverged == -1).all()


def test_a_diverged_trial_is_halted_with_its_step_and_spoils_no_other() -> None:
    """A rate of 30 overflows, one of 4 passes the bound; the third trial ends as it would alone."""
    found = trials([30.0, 4.0, 0.3], [4, 5])
    alone = trials([0.3], [4, 5])
    np.testing.assert_allclose(found.errors[..., 2:], alone.errors, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(found.values[:, 2:], alone.values, rtol=1e-4, atol=1e-6)
    assert (found.diverged[:, 2] == -1).all()
    assert (found.diverged[:, :2] > 0).all()
    for seed in range(2):
        for setting in range(2):
            at = found.diverged[seed, setting]
            after = found.steps > -(-at // 10) * 10
            assert np.isnan(found.errors[after, seed, setting]).all()  # the curve ends where the trial does
            assert np.isfinite(found.errors[found.steps < at, seed, setting]).all()
    assert np.isfinite(found.values).all()  # of the last sound checkpoint


def test_the_step_of_an_overflow_is_the_step() -> None:
    """Errors grow about 470 times a step in float32: beyond 3e38 after 14 or so, which a checkpoint at 40 must name."""
    found = trials([300.0], [4], every=40)
    alone = trials([300.0], [4], every=1)
    assert 0 < found.diverged[0, 0] < 40
    assert found.diverged[0, 0] >= alone.diverged[0, 0]  # the bound is seen at each checkpoint, an overflow at its step


def test_batches_are_drawn_from_all_rows_alike() -> None:
    """4,000 batches of one of four rows, told apart by their error: counts within 5 standard errors of 27."""
    rows = Transition(jnp.zeros((4, 2)), None, jnp.arange(4.0), jnp.zeros(4), jnp.zeros((4, 2)), jnp.ones(4))
    estimator = make({"rate": 0.1})
    _, metrics = train(jax.random.key(0), estimator, estimator.init(jax.random.key(1)), rows, 4_000, 1)
    counts = np.bincount(np.asarray(metrics["td_error"]).astype(int), minlength=4)
    assert np.abs(counts - 1_000).max() < 5 * np.sqrt(4_000 * 3 / 16)
    _, metrics = train(jax.random.key(0), estimator, estimator.init(jax.random.key(1)), rows, 3, None)
    np.testing.assert_allclose(metrics["td_error"], np.sqrt(14 / 4), rtol=1e-6)  # all of them, each time


def one_place(key: jax.Array) -> Transition:
    """Always the same transition, of value 1: the error is multiplied by ``1 - rate`` in each step."""
    inputs = jnp.tile(jnp.array([[1.0, 0.0]]), (4, 1))
    return Transition(inputs, None, jnp.ones(4), jnp.full(4, 0.5), jnp.zeros((4, 2)), jnp.ones(4))


@pytest.mark.parametrize(
    ("rate", "changes", "step"),
    [
        (1e10, {"every": 40}, 3),  # errors of 1, 1e10, 1e20: the last one's square is too large for float32
        (3.0, {"every": 1, "bound": 10.0}, 4),  # 2, 4, 8, 16 times the error there was, that of values of 0
        (3.0, {"every": 2, "bound": 10.0}, 4),
    ],
)
def test_the_step_of_a_divergence_by_hand(rate: float, changes: dict, step: int) -> None:
    asked = {"steps": 40, "batch_size": 4, **changes}
    keys, truth = jax.vmap(jax.random.key)(jnp.arange(1)), np.array([1.0, 0.0])
    found = run_trials(keys, make, {"rate": jnp.array([rate])}, one_place, PLACES, truth, **asked)
    assert found.diverged.tolist() == [[step]]


def test_when_all_have_diverged_nothing_more_is_computed() -> None:
    reported = []
    found = trials([1e6], [4], report=reported.append)
    assert sum(reported) < 40
    assert found.errors.shape == (5, 1, 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"batch_size": 0}, "batch_size is 0; it must be >= 1"),
        ({"steps": 0}, "steps is 0"),
        ({"every": 7}, "every must divide steps"),
    ],
)
def test_bad_sizes_are_named(changes: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        trials([0.1], [1], **changes)
