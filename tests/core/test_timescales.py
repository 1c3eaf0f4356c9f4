"""The two-timescale conditions are checked, and what breaks them is named."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesbellman.core.timescales import ConstantStep, PolynomialDecay, TwoTimescales


def test_polynomial_decay() -> None:
    schedule = PolynomialDecay(2.0, 0.5)
    np.testing.assert_allclose([schedule(0), schedule(3)], [2.0, 1.0])
    swept = jax.vmap(lambda scale: PolynomialDecay(scale, 0.5)(jnp.asarray(3)))(jnp.array([2.0, 4.0]))
    np.testing.assert_allclose(swept, [1.0, 2.0])


@pytest.mark.parametrize(("fast", "slow"), [(0.6, 0.9), (0.51, 1.0), (0.75, 0.76)])
def test_legal_schedules_are_accepted(fast: float, slow: float) -> None:
    assert TwoTimescales(PolynomialDecay(1.0, fast), PolynomialDecay(1.0, slow)).faults == []


@pytest.mark.parametrize(
    ("fast", "slow", "words"),
    [
        (PolynomialDecay(1.0, 0.5), PolynomialDecay(1.0, 0.9), "fast: .* squares is infinite"),
        (PolynomialDecay(1.0, 0.6), PolynomialDecay(1.0, 1.1), "slow: .* sum is finite"),
        (PolynomialDecay(1.0, 0.9), PolynomialDecay(1.0, 0.6), "slow/fast does not tend to 0"),
        (PolynomialDecay(1.0, 0.9), PolynomialDecay(0.1, 0.9), "slow/fast does not tend to 0"),
        (ConstantStep(0.1), ConstantStep(0.01), "fast: .* squares is infinite"),
    ],
)
def test_illegal_schedules_are_refused_unless_asked_for(fast, slow, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TwoTimescales(fast, slow)
    allowed = TwoTimescales(fast, slow, allow_violation=True)
    assert allowed.faults


def test_conditions_hold_numerically_for_what_is_accepted() -> None:
    """The exponent rule against the sums themselves: partial sums grow without end, sums of squares level off."""
    for p in (0.6, 0.9):
        steps = np.asarray(jax.vmap(PolynomialDecay(1.0, p))(jnp.arange(2_000_000)), dtype=float)
        growth = steps[1_000_000:].sum() / steps[:1_000_000].sum()
        squares = (steps[1_000_000:] ** 2).sum() / (steps[:1_000_000] ** 2).sum()
        assert growth > 0.05
        assert squares < growth / 5


def test_negative_exponent_is_refused() -> None:
    with pytest.raises(ValueError, match=r"exponent is -0\.5; accepted"):
        PolynomialDecay(1.0, -0.5)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_step_that_is_no_step_is_refused(scale: float) -> None:
    """Steps of 0 sum to 0, negative ones go uphill: no exponent makes up for it."""
    for make in (lambda: PolynomialDecay(scale, 0.6), lambda: ConstantStep(scale)):
        with pytest.raises(ValueError, match=rf"scale is {scale}; accepted is a finite number > 0"):
            make()
