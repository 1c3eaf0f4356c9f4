"""Step sizes, and the check of the two-timescale conditions (paper, Assumption "Two-timescale Regularity", iii).

The fast step sizes ``alpha_k`` and the slow ones ``beta_k`` must satisfy ``sum = inf``, ``sum of squares < inf`` and
``beta_k / alpha_k -> 0``. For steps that decay like ``k^-p`` this is ``1/2 < p_fast < p_slow <= 1``.
"""

import abc
import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class AbstractSchedule(eqx.Module):
    """Step size as a function of the update's number ``k = 0, 1, ...``."""

    @property
    @abc.abstractmethod
    def decay_exponent(self) -> float:
        """``p`` such that the step decays like ``k^-p``; 0 for a constant step. The conditions are checked on it."""

    @abc.abstractmethod
    def __call__(self, k: Int[Array, ""] | int) -> Float[Array, ""]:
        """Step size of update ``k``."""


def _check_scale(scale: float | Float[Array, ""]) -> None:
    swept = not isinstance(scale, float | int)  # under vmap, where it has no one value to check
    if not swept and not 0 < scale < math.inf:
        raise ValueError(f"scale is {scale}; accepted is a finite number > 0")


class PolynomialDecay(AbstractSchedule):
    """``scale * (k + 1)^-exponent``. The scale can be swept under ``vmap``; the exponent is structure."""

    scale: float | Float[Array, ""]
    exponent: float = eqx.field(static=True)

    def __check_init__(self) -> None:
        _check_scale(self.scale)
        if not (math.isfinite(self.exponent) and self.exponent >= 0):
            raise ValueError(f"exponent is {self.exponent}; accepted is a finite number >= 0")

    @property
    def decay_exponent(self) -> float:
        return self.exponent

    def __call__(self, k: Int[Array, ""] | int) -> Float[Array, ""]:
        scale = jnp.asarray(self.scale, dtype=float)
        return scale * (jnp.asarray(k).astype(scale.dtype) + 1) ** -self.exponent


class ConstantStep(AbstractSchedule):
    """The same step for ever. It meets no convergence condition; asked for by name, it is allowed."""

    scale: float | Float[Array, ""]

    def __check_init__(self) -> None:
        _check_scale(self.scale)

    @property
    def decay_exponent(self) -> float:
        return 0.0

    def __call__(self, k: Int[Array, ""] | int) -> Float[Array, ""]:
        return jnp.asarray(self.scale, dtype=float)


def robbins_monro_fault(schedule: AbstractSchedule) -> str | None:
    """Why the schedule breaks ``sum = inf, sum of squares < inf``, or None if it does not."""
    p = schedule.decay_exponent
    if p > 1:
        return f"its steps decay like k^-{p:g}, so their sum is finite and it stops short; the exponent must be <= 1"
    if p <= 0.5:
        return f"its steps decay like k^-{p:g}, so the sum of their squares is infinite; the exponent must be > 1/2"
    return None


class TwoTimescales(eqx.Module):
    """A fast and a slow schedule that satisfy the conditions of Theorem 2.

    Schedules that break a condition are refused, with the condition named. ``allow_violation=True`` accepts them
    (constant steps are what deep agents use); `faults` then still says what is broken.
    """

    fast: AbstractSchedule
    slow: AbstractSchedule
    allow_violation: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if self.faults and not self.allow_violation:
            raise ValueError(
                "these step sizes break the two-timescale conditions: "
                + "; ".join(self.faults)
                + ". Use PolynomialDecay with 1/2 < fast exponent < slow exponent <= 1 (0.6 and 0.9, say),"
                + " or pass allow_violation=True"
            )

    @property
    def faults(self) -> list[str]:
        """Each broken condition in words; empty if Theorem 2 applies."""
        found = [
            f"{name}: {fault}"
            for name, schedule in (("fast", self.fast), ("slow", self.slow))
            if (fault := robbins_monro_fault(schedule)) is not None
        ]
        if self.slow.decay_exponent <= self.fast.decay_exponent:
            found.append(
                f"slow/fast does not tend to 0: the slow exponent {self.slow.decay_exponent:g} must be larger than"
                f" the fast exponent {self.fast.decay_exponent:g}"
            )
        return found
