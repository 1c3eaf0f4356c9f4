"""Bayesian Bellman operators: inference over Bellman operators, after Fellows, Hartikainen and Whiteson (2021).

Names are imported when they are first used, so that ``import bayesbellman`` and the command line start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from bayesbellman._version import __version__ as __version__

if TYPE_CHECKING:
    from bayesbellman.core.errors import Diverged as Diverged
    from bayesbellman.core.errors import (
        JitterWarning as JitterWarning,
    )
    from bayesbellman.core.errors import (
        RankDeficientWarning as RankDeficientWarning,
    )
    from bayesbellman.doors.agents import BAC as BAC
    from bayesbellman.doors.agents import BBAC as BBAC
    from bayesbellman.doors.agents import DQN as DQN
    from bayesbellman.doors.agents import SAC as SAC
    from bayesbellman.doors.agents import BootDQN as BootDQN
    from bayesbellman.doors.agents import SACStar as SACStar
    from bayesbellman.doors.callbacks import Callback as Callback
    from bayesbellman.doors.callbacks import StopAtReturn as StopAtReturn
    from bayesbellman.doors.checkpoints import Checkpoints as Checkpoints
    from bayesbellman.doors.linear import LinearBBO as LinearBBO
    from bayesbellman.doors.neural import NeuralBBO as NeuralBBO

# Public name -> the module that defines it. A new public name is one new line here (and above, for type checkers).
_PUBLIC = {
    "BBAC": "bayesbellman.doors.agents",
    "BAC": "bayesbellman.doors.agents",
    "SAC": "bayesbellman.doors.agents",
    "SACStar": "bayesbellman.doors.agents",
    "BootDQN": "bayesbellman.doors.agents",
    "DQN": "bayesbellman.doors.agents",
    "Callback": "bayesbellman.doors.callbacks",
    "StopAtReturn": "bayesbellman.doors.callbacks",
    "Checkpoints": "bayesbellman.doors.checkpoints",
    "LinearBBO": "bayesbellman.doors.linear",
    "NeuralBBO": "bayesbellman.doors.neural",
    "Diverged": "bayesbellman.core.errors",
    "RankDeficientWarning": "bayesbellman.core.errors",
    "JitterWarning": "bayesbellman.core.errors",
}

__all__ = [
    "BAC",
    "BBAC",
    "DQN",
    "SAC",
    "BootDQN",
    "Callback",
    "Checkpoints",
    "Diverged",
    "JitterWarning",
    "LinearBBO",
    "NeuralBBO",
    "RankDeficientWarning",
    "SACStar",
    "StopAtReturn",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'bayesbellman' has no attribute {name!r}; it has {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted(__all__)
