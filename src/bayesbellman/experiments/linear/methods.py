"""The seven methods with their settings on the nine tasks: the columns of the paper's linear tables.

Settings are those of the benchmark (Dann et al. 2014) and, for BBO, of the paper. With ``as_published`` a method has
the quirks with which its numbers were printed; without, it is as its definition says.
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

Make = Callable[[int, bool], AbstractEstimator]
"""``(num_features, as_published) -> estimator``"""

DENSITY_FACTOR = 1024 / 2**0.5
"""Weights of the 20-link task are too small by this as published, and its step sizes were chosen for those weights."""


def bbo(published_variance: float, stated_variance: float) -> Make:
    """As published: in float32, with the prior variance behind the printed numbers, not always that of the text."""

    def make(n: int, as_published: bool) -> AbstractEstimator:
        model = ConjugatePosterior.isotropic(n, published_variance if as_published else stated_variance)
        if as_published:
            model = jax.tree.map(lambda x: x.astype(jnp.float32), model)
        return RecursiveLinearBBO(model)

    return make


def td(step_size: AbstractSchedule | DabneyStep, trace_decay: float = 0.0, correct_factor: float = 1.0) -> Make:
    """As published the first weight of an episode is ignored."""

    def make(n: int, as_published: bool) -> AbstractEstimator:
        step = step_size
        if isinstance(step, ConstantStep) and not as_published:
            step = ConstantStep(step.scale * correct_factor)
        return TD(n, step, trace_decay, as_published)

    return make


def tdc(
    alpha: float, mu: float, trace_decay: float = 0.0, weight_zeta: bool = False, correct_factor: float = 1.0
) -> Make:
    return lambda n, as_published: TDC(
        n, alpha * (1.0 if as_published else correct_factor), mu, trace_decay, weight_zeta
    )


def gtd2(alpha: float, mu: float, correct_factor: float = 1.0) -> Make:
    return lambda n, as_published: GTD2(n, alpha * (1.0 if as_published else correct_factor), mu)


def lstd_plus(trace_decay: float, prior_variance: float, weighting: Weighting) -> Make:
    return lambda n, as_published: LSTDPlus(n, prior_variance, trace_decay, weighting)


def lstd(n: int, as_published: bool) -> AbstractEstimator:
    """As published the weight is on the successor and the reward alone; else on everything, as in BBO."""
    return LSTD(n, "successor" if as_published else "everything")


def brm(prior_variance: float) -> Make:
    return lambda n, as_published: BRM(n, prior_variance)


def batch_brm(n: int, as_published: bool) -> AbstractEstimator:
    return BatchBRM(n)


def trace_brm(trace_decay: float, prior_variance: float) -> Make:
    """As published the trace starts from 1, not 0."""
    return lambda n, as_published: TraceBRM(n, prior_variance, trace_decay, as_published)


METHODS: tuple[str, ...] = ("BBO", "GTD2", "TD", "TDC", "LSTD+", "LSTD", "BRM")
"""In the order of the paper's columns."""

SETTINGS: dict[str, dict[str, Make]] = {
    "boyan": {
        "BBO": bbo(10.0, 10.0),
        "GTD2": gtd2(0.5, 1.0),
        "TD": td(PolynomialDecay(10.0, 0.5)),
        "TDC": tdc(0.2, 1e-4, trace_decay=1.0),
        "LSTD+": lstd_plus(0.8, 1e4, "successor"),
        "LSTD": lstd,
        "BRM": brm(100.0),
    },
    "disc_random_on": {
        "BBO": bbo(10.0, 10.0),
        "GTD2": gtd2(0.003, 4.0),
        "TD": td(DabneyStep()),
        "TDC": tdc(0.007, 0.01),
        "LSTD+": lstd_plus(0.0, 10.0, "successor"),
        "LSTD": lstd,
        "BRM": brm(10.0),  # BRM(lambda) with lambda = 0, which this is
    },
    "disc_random_off": {
        "BBO": bbo(10.0, 10.0),
        "GTD2": gtd2(0.002, 1.0),
        "TD": td(PolynomialDecay(0.01, 0.1)),
        "TDC": tdc(0.003, 0.05, weight_zeta=True),
        "LSTD+": lstd_plus(0.0, 10.0, "everything"),
        "LSTD": lstd,
        "BRM": brm(10.0),
    },
    "lqr_imp_onpolicy": {
        "BBO": bbo(0.01, 0.1),
        "GTD2": gtd2(0.02, 0.1),
        "TD": td(ConstantStep(0.004)),
        "TDC": tdc(0.004, 1e-4),
        "LSTD+": lstd_plus(0.0, 1e5, "successor"),
        "LSTD": lstd,
        "BRM": trace_brm(0.8, 1e5),
    },
    "lqr_imp_offpolicy": {
        "BBO": bbo(0.01, 0.1),
        "GTD2": gtd2(0.01, 0.1),
        "TD": td(ConstantStep(0.002)),
        "TDC": tdc(0.002, 1e-4),
        "LSTD+": lstd_plus(0.0, 1e5, "everything"),
        "LSTD": lstd,
        "BRM": brm(100.0),
    },
    "lqr_full_onpolicy": {
        "BBO": bbo(10.0, 10.0),
        "GTD2": gtd2(0.005, 0.5),
        "TD": td(ConstantStep(0.008), trace_decay=0.2),
        "TDC": tdc(0.007, 0.05),
        "LSTD+": lstd_plus(0.0, 10.0, "successor"),
        "LSTD": lstd,
        "BRM": batch_brm,
    },
    "lqr_full_offpolicy": {
        "BBO": bbo(10.0, 10.0),
        "GTD2": gtd2(0.001, 1.0),
        "TD": td(ConstantStep(0.002), trace_decay=0.2),
        "TDC": tdc(0.003, 0.1, weight_zeta=True),
        "LSTD+": lstd_plus(0.0, 10.0, "everything"),
        "LSTD": lstd,
        "BRM": batch_brm,
    },
    "link20_imp_onpolicy": {
        "BBO": bbo(10.0, 10.0),
        "GTD2": gtd2(0.0005, 1.0),
        "TD": td(ConstantStep(0.0005)),
        "TDC": tdc(0.0005, 0.05),
        "LSTD+": lstd_plus(0.0, 0.01, "successor"),
        "LSTD": lstd,
        "BRM": brm(1e5),
    },
    "link20_imp_offpolicy": {
        "BBO": bbo(3.0, 10.0),
        "GTD2": gtd2(0.5, 0.01, correct_factor=1 / DENSITY_FACTOR),
        "TD": td(ConstantStep(0.05), correct_factor=1 / DENSITY_FACTOR),
        "TDC": tdc(0.05, 0.01, correct_factor=1 / DENSITY_FACTOR),
        "LSTD+": lstd_plus(0.0, 10.0, "everything"),
        "LSTD": lstd,
        "BRM": brm(1e5),
    },
}


def estimator(task: str, method: str, num_features: int, as_published: bool) -> AbstractEstimator:
    """The method with its settings on the task."""
    return SETTINGS[task][method](num_features, as_published)
