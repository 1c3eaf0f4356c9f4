"""The seven methods with their settings on the nine tasks: the columns of the paper's linear tables.

Settings are those of the benchmark (Dann et al. 2014) and, for BBO, of the paper. A method has the quirks that it is
asked to have (`data.quirks`); without, it is as its definition says.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from bayesbellman.core.timescales import AbstractSchedule, ConstantStep, PolynomialDecay
from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.gradient_td import GTD2, TD, TDC, DabneyStep
from bayesbellman.evaluation.linear_bbo import RecursiveLinearBBO
from bayesbellman.evaluation.lstd import LSTD, LSTDPlus, Weighting
from bayesbellman.evaluation.residual import BRM, BatchBRM, TraceBRM
from bayesbellman.posterior.conjugate import ConjugatePosterior

Make = Callable[[int, frozenset[str]], AbstractEstimator]
"""``(num_features, quirks) -> estimator``"""

DENSITY_FACTOR = 1024 / 2**0.5
"""By this the weights of the 20-link task are too small with the quirk "density-sum", for which its step sizes were
chosen; without the quirk they are divided by it."""


def bbo(variance: float, unstated_variance: float | None = None) -> Make:
    """The prior variance that the paper states, and where it differs the one behind the printed numbers."""

    def make(n: int, quirks: frozenset[str]) -> AbstractEstimator:
        unstated = unstated_variance if "unstated-prior" in quirks else None
        model = ConjugatePosterior.isotropic(n, variance if unstated is None else unstated)
        if "float32" in quirks:
            model = jax.tree.map(lambda x: x.astype(jnp.float32), model)
        return RecursiveLinearBBO(model)

    return make


def step_factor(chosen_with_quirk: bool, quirks: frozenset[str]) -> float:
    """What a step size is multiplied by: 1, unless it was chosen for weights that are too small and they are not."""
    return 1 / DENSITY_FACTOR if chosen_with_quirk and "density-sum" not in quirks else 1.0


def td(step_size: AbstractSchedule | DabneyStep, trace_decay: float = 0.0, chosen_with_quirk: bool = False) -> Make:
    def make(n: int, quirks: frozenset[str]) -> AbstractEstimator:
        step, factor = step_size, step_factor(chosen_with_quirk, quirks)
        if factor != 1:
            assert isinstance(step, ConstantStep), "only a constant step can be scaled"
            step = ConstantStep(step.scale * factor)
        return TD(n, step, trace_decay, as_published="first-weight" in quirks)

    return make


def tdc(
    alpha: float, mu: float, trace_decay: float = 0.0, weight_zeta: bool = False, chosen_with_quirk: bool = False
) -> Make:
    return lambda n, quirks: TDC(n, alpha * step_factor(chosen_with_quirk, quirks), mu, trace_decay, weight_zeta)


def gtd2(alpha: float, mu: float, chosen_with_quirk: bool = False) -> Make:
    return lambda n, quirks: GTD2(n, alpha * step_factor(chosen_with_quirk, quirks), mu)


def lstd_plus(trace_decay: float, prior_variance: float, weighting: Weighting) -> Make:
    return lambda n, quirks: LSTDPlus(n, prior_variance, trace_decay, weighting)


def lstd(n: int, quirks: frozenset[str]) -> AbstractEstimator:
    return LSTD(n, "successor" if "successor-weights" in quirks else "everything")


def brm(prior_variance: float) -> Make:
    return lambda n, quirks: BRM(n, prior_variance)


def batch_brm(n: int, quirks: frozenset[str]) -> AbstractEstimator:
    return BatchBRM(n)


def trace_brm(trace_decay: float, prior_variance: float) -> Make:
    return lambda n, quirks: TraceBRM(n, prior_variance, trace_decay, as_published="trace-from-one" in quirks)


METHODS: tuple[str, ...] = ("BBO", "GTD2", "TD", "TDC", "LSTD+", "LSTD", "BRM")
"""In the order of the paper's columns."""

SETTINGS: dict[str, dict[str, Make]] = {
    "boyan": {
        "BBO": bbo(10.0),
        "GTD2": gtd2(0.5, 1.0),
        "TD": td(PolynomialDecay(10.0, 0.5)),
        "TDC": tdc(0.2, 1e-4, trace_decay=1.0),
        "LSTD+": lstd_plus(0.8, 1e4, "successor"),
        "LSTD": lstd,
        "BRM": brm(100.0),
    },
    "disc_random_on": {
        "BBO": bbo(10.0),
        "GTD2": gtd2(0.003, 4.0),
        "TD": td(DabneyStep()),
        "TDC": tdc(0.007, 0.01),
        "LSTD+": lstd_plus(0.0, 10.0, "successor"),
        "LSTD": lstd,
        "BRM": brm(10.0),  # BRM(lambda) with lambda = 0, which this is
    },
    "disc_random_off": {
        "BBO": bbo(10.0),
        "GTD2": gtd2(0.002, 1.0),
        "TD": td(PolynomialDecay(0.01, 0.1)),
        "TDC": tdc(0.003, 0.05, weight_zeta=True),
        "LSTD+": lstd_plus(0.0, 10.0, "everything"),
        "LSTD": lstd,
        "BRM": brm(10.0),
    },
    "lqr_imp_onpolicy": {
        "BBO": bbo(0.1, unstated_variance=0.01),
        "GTD2": gtd2(0.02, 0.1),
        "TD": td(ConstantStep(0.004)),
        "TDC": tdc(0.004, 1e-4),
        "LSTD+": lstd_plus(0.0, 1e5, "successor"),
        "LSTD": lstd,
        "BRM": trace_brm(0.8, 1e5),
    },
    "lqr_imp_offpolicy": {
        "BBO": bbo(0.1, unstated_variance=0.01),
        "GTD2": gtd2(0.01, 0.1),
        "TD": td(ConstantStep(0.002)),
        "TDC": tdc(0.002, 1e-4),
        "LSTD+": lstd_plus(0.0, 1e5, "everything"),
        "LSTD": lstd,
        "BRM": brm(100.0),
    },
    "lqr_full_onpolicy": {
        "BBO": bbo(10.0),
        "GTD2": gtd2(0.005, 0.5),
        "TD": td(ConstantStep(0.008), trace_decay=0.2),
        "TDC": tdc(0.007, 0.05),
        "LSTD+": lstd_plus(0.0, 10.0, "successor"),
        "LSTD": lstd,
        "BRM": batch_brm,
    },
    "lqr_full_offpolicy": {
        "BBO": bbo(10.0),
        "GTD2": gtd2(0.001, 1.0),
        "TD": td(ConstantStep(0.002), trace_decay=0.2),
        "TDC": tdc(0.003, 0.1, weight_zeta=True),
        "LSTD+": lstd_plus(0.0, 10.0, "everything"),
        "LSTD": lstd,
        "BRM": batch_brm,
    },
    "link20_imp_onpolicy": {
        "BBO": bbo(10.0),
        "GTD2": gtd2(0.0005, 1.0),
        "TD": td(ConstantStep(0.0005)),
        "TDC": tdc(0.0005, 0.05),
        "LSTD+": lstd_plus(0.0, 0.01, "successor"),
        "LSTD": lstd,
        "BRM": brm(1e5),
    },
    "link20_imp_offpolicy": {
        "BBO": bbo(10.0, unstated_variance=3.0),
        "GTD2": gtd2(0.5, 0.01, chosen_with_quirk=True),
        "TD": td(ConstantStep(0.05), chosen_with_quirk=True),
        "TDC": tdc(0.05, 0.01, chosen_with_quirk=True),
        "LSTD+": lstd_plus(0.0, 10.0, "everything"),
        "LSTD": lstd,
        "BRM": brm(1e5),
    },
}


def estimator(task: str, method: str, num_features: int, quirks: frozenset[str]) -> AbstractEstimator:
    """The method with its settings on the task."""
    return SETTINGS[task][method](num_features, quirks)
