"""The artefacts of the paper that can be reproduced, by name."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayesbellman.experiments.artefact import Artefact

TITLES = {
    "linear": "policy evaluation with linear features: nine tasks, seven methods, two tables, a nine-panel figure",
    "tsitsiklis": "the triangle on which TD(0) diverges: BBO in two forms, TD(0), TDC, GTD2",
    "nonlinear": "policy evaluation with networks: three tasks, BBO in three forms, TD(0), TDC, 24 data sets each",
    "nonlinear_tuning": "the search for their settings on tuning data; also `bbo tune nonlinear`",
    "mountain-car": "RP-BBAC, BAC, SAC at two rates, SAC* on sparse MountainCar; SAC with seven target entropies",
    "state-support": "what RP-BBAC, BAC and SAC have seen of MountainCar, and what their members think of it, in time",
    "cartpole": "RP-BBAC, BAC, SAC at two rates, SAC* on the sparse cart-pole swing-up",
    "cartpole-levers": "what makes RP-BBAC explore the sparse cart-pole: one lever at a time (not in the paper)",
    "cartpole-stock": "RP-BBAC and SAC on the cart-pole with the Control Suite's own sparse reward (not in the paper)",
    "sparse-tasks": "RP-BBAC as it is and SAC on a sparse pendulum and a sparse acrobot (not in the paper)",
    "mountain-car-sensitivity": "RP-BBAC on sparse MountainCar by number of members, prior scale and prior weight",
    "sensitivity": "RP-BBAC on the sparse cart-pole by number of members, prior scale and prior weight",
    "deep-sea": "episodes that BootDQN+Prior and DQN take to learn Deep Sea, by size, and on what (not in the paper)",
    "quirks": "what each quirk of the linear benchmark does to its numbers, one at a time (not in the paper)",
    "off_policy": "the exact linear posterior under importance weights: error, widths, coverage (not in the paper)",
}
"""Name of the artefact, which is its folder's (there with underscores), and a line on it."""


def artefact(name: str) -> "Artefact":
    """The artefact of that name, with hyphens or underscores; its modules are imported now."""
    folder = name.replace("-", "_")
    if folder not in {known.replace("-", "_") for known in TITLES}:
        raise ValueError(f"there is no artefact {name!r}; there are: {', '.join(TITLES)} (see bbo reproduce --list)")
    return import_module(f"bayesbellman.experiments.{folder}").ARTEFACT
