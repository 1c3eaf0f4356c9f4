"""The levers: what is changed, one at a time, of what RP-BBAC is otherwise."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from bayesbellman.control.bbac import RECIPES
from bayesbellman.experiments.cartpole.sweep import PRIOR_SCALE
from bayesbellman.nn.scaling import WIDEST

BASE = "base"


class Lever(NamedTuple):
    """What differs from the base."""

    floats: dict[str, float]
    """In numbers, which may differ from run to run in one program"""
    program: tuple[tuple[str, Any], ...] = ()
    """In what makes a program of its own: settings of the agent that are static, and `WARMUP`"""


USUAL: dict[str, float] = {
    **RECIPES["paper"],
    "exploration_entropy": 1.0,
    "prior_scale": PRIOR_SCALE,
    "prior_weight": 3e-5,
    "exploration_noise": 1.0,
    "init_noise": 0.01,
    "limit_ends": 0.0,
    "fast": WIDEST,
    "target_smoothing": 5e-3,
}
"""The paper's numbers, but for an entropy bonus and some noise where episodes start"""
WARMUP = "warmup_times"
"""How many times the usual warm-up of 1,000 steps"""
NOISY = "noisy"
RATES = {"learning_rate": 1e-3, "target_smoothing": 0.02}
LEVERS: dict[str, Lever] = {
    BASE: Lever({}),
    "no entropy bonus": Lever({"exploration_entropy": 0.0}),
    "entropy bonus 3": Lever({"exploration_entropy": 3.0}),
    "prior scale 100": Lever({"prior_scale": 100.0}),
    "velocities to 10": Lever({"fast": 10.0}),
    "learning rate 0.001": Lever({"learning_rate": 1e-3}),
    "learning rate 0.003": Lever({"learning_rate": 3e-3}),
    "target smoothing 0.02": Lever({"target_smoothing": 0.02}),
    "quick": Lever(RATES),
    "quick, velocities to 10": Lever({**RATES, "fast": 10.0}),
    "velocities to 10, prior scale 100": Lever({"fast": 10.0, "prior_scale": 100.0}),
    "prior weight 1e-6": Lever({"prior_weight": 1e-6}),
    "mean action": Lever({"exploration_noise": 0.0}),
    "limit is an end": Lever({"limit_ends": 1.0}),
    "start noise 0.1": Lever({"init_noise": 0.1}),
    "start noise 0": Lever({"init_noise": 0.0}),
    "paper's letter": Lever({**RECIPES["paper"], "init_noise": 0.0}),
    "prior scale 10": Lever({"prior_scale": 10.0}),
    "no prior": Lever({"prior_scale": 0.0}),
    "entropy bonus 0.3": Lever({"exploration_entropy": 0.3}),
    "target noise 1": Lever({"target_noise": 1.0}),
    "target noise 0.1": Lever({"target_noise": 0.1}),
    "warm-up 10,000": Lever({}, ((WARMUP, 10),)),
    "first trial": Lever({**RECIPES["paper"], "limit_ends": 1.0}, ((WARMUP, 10),)),
    "bootstrap 0.5": Lever({}, (("bootstrap", 0.5),)),
    "anchored prior": Lever({"prior_scale": 1.0}, (("prior", "anchored"),)),
}
"""``paper's letter``: its recipe, and every episode starts the same. ``first trial``: that recipe, a long warm-up, and
the time limit is an end. ``velocities to 10``: those of 10 are shown to the networks as 1; of all that
is observed they are the largest otherwise, and so what prior functions mostly depend on. A larger learning rate has
members agree sooner where they have been, a larger target smoothing tells them sooner of a reward that was found;
``quick`` has both. With a smaller prior weight members are freer to cancel their prior functions."""


def program_of(lever: Lever) -> tuple[tuple[str, Any], ...]:
    """Levers with the same one are run together. Noise on targets costs time, so that those without have none."""
    return (*lever.program, (NOISY, True)) if "target_noise" in lever.floats else lever.program


def floats_of(lever: Lever, base: Mapping[str, float]) -> dict[str, float]:
    return {**USUAL, **base, **lever.floats}
