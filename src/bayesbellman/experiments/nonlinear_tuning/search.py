"""The paper's search: by the median final error over the tuning data sets, stage after stage.

BBO: learning rates without the prior on a coarse grid (whole decades), then every value of the grid next to the best;
then the number of lower-level steps and the prior. The paper's table has another upper rate with the prior than without
it, so we search that one once more in the end. TD(0) and TDC: the full grid.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bayesbellman.experiments.nonlinear.methods import BBO, DIRECT, NO_PRIOR, PAPER, TD, TDC, Setting

RATES = (*(float(f"{digit}e{power}") for power in range(-6, 0) for digit in (1, 3)), 1.0)
PRIORS = (*(float(f"{digit}e{power}") for power in range(-4, 0) for digit in (1, 3)), 1.0)
LOWER_STEPS = (1, 5, 10, 20)
FIRST_LOWER_STEPS = 10
"""While learning rates are searched; the paper does not say."""


def rates(task: str) -> tuple[float, ...]:
    """TD(0)'s grid; on the pendulum it reaches further down."""
    return (1e-7, 3e-7, *RATES) if task == "twenty-link" else RATES


def priors(task: str) -> tuple[float, ...]:
    return tuple(sorted((*PRIORS, 0.25, 0.5, 0.75))) if task == "twenty-link" else PRIORS


class Tried(NamedTuple):
    """One setting, and what came of it on each tuning data set."""

    method: str
    stage: str
    setting: Setting
    errors: Float[np.ndarray, " D"]
    """Final mean squared errors, infinite where a trial diverged."""
    diverged: Int[np.ndarray, " D"]

    @property
    def score(self) -> float:
        return float(np.quantile(self.errors, 0.5, method="nearest"))


Try = Callable[[str, str, Sequence[Setting]], list[Tried]]
"""``(method, stage, settings)``; the settings share their number of lower-level steps."""


def best(tried: Sequence[Tried]) -> Tried:
    """The lowest score; of equal ones the first."""
    return min(tried, key=lambda one: one.score)


def around(value: float, grid: Sequence[float]) -> list[float]:
    """A value of the grid and those next to it."""
    at = list(grid).index(value)
    return list(grid[max(at - 1, 0) : at + 2])


def coarse(grid: Sequence[float]) -> list[float]:
    """Whole decades."""
    return [value for value in grid if f"{value:e}".startswith("1.0")]


def search_td(task: str, attempt: Try) -> list[Tried]:
    return attempt(TD, "grid", [Setting({"rate": rate}) for rate in rates(task)])


def search_tdc(task: str, attempt: Try) -> list[Tried]:
    return attempt(TDC, "grid", [Setting({"slow": slow, "fast": fast}) for slow, fast in product(RATES, RATES)])


def search_direct(task: str, attempt: Try) -> list[Tried]:
    def settings(some: Sequence[float], prior: Sequence[float]) -> list[Setting]:
        return [Setting({"rate": rate, "prior": weight}) for rate, weight in product(some, prior)]

    tried = attempt(DIRECT, "coarse", settings(coarse(rates(task)), [0.0]))
    tried += attempt(DIRECT, "dense", settings(around(best(tried).setting.numbers["rate"], rates(task)), [0.0]))
    found = best(tried).setting.numbers["rate"]
    return tried + attempt(DIRECT, "prior", settings([found], priors(task)))


def search_gradient(task: str, attempt: Try) -> list[Tried]:
    """Gradient BBO without the prior, and from there with it."""

    def bare(upper: Sequence[float], lower: Sequence[float], steps: int) -> list[Setting]:
        return [Setting({"upper": u, "lower": low}, steps) for u, low in product(upper, lower)]

    first = FIRST_LOWER_STEPS
    without = attempt(NO_PRIOR, "coarse", bare(coarse(RATES), coarse(RATES), first))
    centre = best(without).setting.numbers
    near = around(centre["upper"], RATES), around(centre["lower"], RATES)
    without += attempt(NO_PRIOR, "dense", bare(*near, first))
    found = best(without).setting.numbers
    for steps in LOWER_STEPS:
        if steps != first:
            without += attempt(NO_PRIOR, "lower steps", bare([found["upper"]], [found["lower"]], steps))
    found = best(without).setting.numbers

    def prior(upper: Sequence[float], weights: Sequence[float], steps: int) -> list[Setting]:
        numbers = [{"upper": u, "lower": found["lower"], "prior": weight} for u, weight in product(upper, weights)]
        return [Setting(one, steps) for one in numbers]

    with_prior: list[Tried] = []
    for steps in LOWER_STEPS:
        with_prior += attempt(BBO, "prior", prior([found["upper"]], priors(task), steps))
    chosen = best(with_prior).setting
    with_prior += attempt(BBO, "upper", prior(RATES, [chosen.numbers["prior"]], chosen.lower_steps))
    return without + with_prior


FAMILIES: dict[str, tuple[tuple[str, ...], Callable[[str, Try], list[Tried]]]] = {
    "gradient": ((BBO, NO_PRIOR), search_gradient),
    "direct": ((DIRECT,), search_direct),
    "td": ((TD,), search_td),
    "tdc": ((TDC,), search_tdc),
}
"""What is searched together: the methods and the search."""


def search(task: str, family: str, attempt: Try) -> list[Tried]:
    """The family's search, with the paper's own setting tried on the same data for comparison."""
    methods, stages = FAMILIES[family]
    tried = stages(task, attempt)
    for method in methods:
        tried += attempt(method, "paper", [PAPER[task, method]])
    return tried
