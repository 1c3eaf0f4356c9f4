"""The five methods, the paper's settings for each task, and ours.

A method is made from numbers by name, so that many settings run in one compiled program; only the number of lower-level
steps is part of the program.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
import optax
from jaxtyping import Array, Key

from bayesbellman.evaluation.base import AbstractEstimator
from bayesbellman.evaluation.nonlinear_bbo import TwoTimescaleBBO
from bayesbellman.evaluation.nonlinear_td import NonlinearTD
from bayesbellman.nn.mlp import MLP, relu
from bayesbellman.posterior.map_estimate import MAPEstimate

ADAM = optax.adam(1.0)
"""Learning rates multiply its steps; as a number of a setting they can differ from trial to trial."""

Numbers = Mapping[str, float | Array]
Network = Callable[[Key[Array, ""]], MLP]


@dataclass(frozen=True)
class Method:
    """How to make the estimator, and which numbers it takes."""

    name: str
    numbers: tuple[str, ...]
    estimator: Callable[[Network, int, Numbers], AbstractEstimator]
    """``(network, lower_steps, numbers)``"""
    activation: Callable[[Array], Array] = relu

    def maker(self, num_inputs: int, hidden: int, lower_steps: int) -> Callable[[Numbers], AbstractEstimator]:
        """The estimator as a function of its numbers alone."""
        network = partial(_network, num_inputs=num_inputs, hidden=hidden, activation=self.activation)
        return partial(self.estimator, network, lower_steps)


def _network(key: Key[Array, ""], num_inputs: int, hidden: int, activation: Callable[[Array], Array]) -> MLP:
    return MLP.glorot(key, num_inputs, (hidden,), activation)


def _gradient_bbo(network: Network, lower_steps: int, numbers: Numbers) -> AbstractEstimator:
    posterior = MAPEstimate(network, ADAM, numbers.get("prior", 0.0), step_size=numbers["lower"])
    return TwoTimescaleBBO(posterior=posterior, slow=ADAM, lower_steps=lower_steps, slow_size=numbers["upper"])


def _direct_bbo(network: Network, lower_steps: int, numbers: Numbers) -> AbstractEstimator:
    posterior = MAPEstimate(network, ADAM, numbers["prior"], step_size=numbers["rate"])
    return TwoTimescaleBBO(posterior=posterior, slow=None, lower_steps=lower_steps)


def _td(network: Network, lower_steps: int, numbers: Numbers) -> AbstractEstimator:
    return NonlinearTD(network, "none", ADAM, slow_size=numbers["rate"])


def _tdc(network: Network, lower_steps: int, numbers: Numbers) -> AbstractEstimator:
    return NonlinearTD(network, "tdc", ADAM, ADAM, slow_size=numbers["slow"], fast_size=numbers["fast"])


BBO, NO_PRIOR, DIRECT, TD, TDC = "BBO", "BBO, no prior", "direct BBO", "TD(0)", "TDC"
METHODS = {
    method.name: method
    for method in (
        Method(BBO, ("upper", "lower", "prior"), _gradient_bbo),
        Method(NO_PRIOR, ("upper", "lower"), _gradient_bbo),
        Method(DIRECT, ("rate", "prior"), _direct_bbo),
        Method(TD, ("rate",), _td),
        Method(TDC, ("slow", "fast"), _tdc, jnp.tanh),
    )
}
"""The paper's; "BBO" is its gradient BBO, the two-timescale rule, with the prior."""


@dataclass(frozen=True)
class Setting:
    """Numbers of a method on a task."""

    numbers: Mapping[str, float]
    lower_steps: int = 1


def _bbo(upper: float, lower: float, prior: float, lower_steps: int) -> Setting:
    return Setting({"upper": upper, "lower": lower, "prior": prior}, lower_steps)


PAPER: dict[tuple[str, str], Setting] = {
    ("twenty-link", BBO): _bbo(1e-2, 1e-3, 0.5, 20),
    ("twenty-link", NO_PRIOR): Setting({"upper": 3e-4, "lower": 1e-3}, 20),
    ("twenty-link", DIRECT): Setting({"rate": 3e-7, "prior": 1.0}),
    ("twenty-link", TD): Setting({"rate": 3e-7}),
    ("twenty-link", TDC): Setting({"slow": 1e-4, "fast": 3e-3}),
    ("puddle-world", BBO): _bbo(3e-2, 1e-2, 3e-4, 10),
    ("puddle-world", NO_PRIOR): Setting({"upper": 1e-3, "lower": 1e-2}, 10),
    ("puddle-world", DIRECT): Setting({"rate": 1e-3, "prior": 3e-4}),
    ("puddle-world", TD): Setting({"rate": 3e-3}),
    ("puddle-world", TDC): Setting({"slow": 1e-3, "fast": 1e-3}),
    ("mountain-car", BBO): _bbo(1e-2, 3e-3, 0.1, 10),
    ("mountain-car", NO_PRIOR): Setting({"upper": 1e-2, "lower": 3e-3}, 10),
    ("mountain-car", DIRECT): Setting({"rate": 3e-4, "prior": 0.1}),
    ("mountain-car", TD): Setting({"rate": 3e-4}),
    ("mountain-car", TDC): Setting({"slow": 1e-5, "fast": 1e-2}),
}
"""The paper's table `tab:non-linear-policy-evaluation-hyperparameters`."""
