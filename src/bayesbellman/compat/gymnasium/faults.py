"""What goes wrong with environments: how it is said, and the numbers that nothing may be learnt from."""

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from jaxtyping import Float


class Place(NamedTuple):
    """Where something went wrong, as far as is needed to make it happen again."""

    name: str
    environment: int | None
    """Which of several; None: all, as of a vector environment"""
    seed: int | None
    """``reset(seed=...)`` begins this episode again."""
    step: int
    """Of the whole run, from 0"""
    episode_step: int | None
    action: Any = None
    """As the environment was given it"""

    def __str__(self) -> str:
        parts = [] if self.environment is None else [f"environment {self.environment}"]
        parts += [f"seed {self.seed}", f"step {self.step}"]
        parts += [] if self.episode_step is None else [f"step {self.episode_step} of its episode"]
        parts += [] if self.action is None else [f"action {np.asarray(self.action).tolist()}"]
        return f"{self.name} ({', '.join(parts)})"


RAISED = (Exception, SystemExit)
"""What an environment may raise. It must not end our process: that a window was closed, say, is no end of a run."""


THREADS = (
    "; bbo train steps environments beside its main thread, --env-timeout SECONDS (agents: env_timeout) gives it a"
    " process and a main thread of its own"
)
"""What helps one that must be used in the thread that made it, or that sets signals"""


class EnvironmentFailed(RuntimeError):
    """An environment raised, or gave what cannot be used. `place` says where."""

    def __init__(self, what: str, place: Place) -> None:
        super().__init__(f"{place}: {what}")
        self.place = place


class NotFinite(EnvironmentFailed):
    """An environment gave NaN or infinity."""


class OtherProcess(RuntimeError):
    """An environment that has a process of its own raised, hangs or died; the words say which, without a subject.

    ``gone``: its process had to be ended, or had ended.
    """

    def __init__(self, words: str, *, gone: bool = False) -> None:
        super().__init__(words)
        self.gone = gone


class EnvironmentWarning(UserWarning):
    """An environment does what it should not, and the run goes on."""


def said(error: BaseException) -> str:
    """What a method did, from what came of it."""
    if isinstance(error, OtherProcess):
        return str(error)
    hint = THREADS if "thread" in str(error).lower() else ""
    return f"raised {type(error).__name__}: {error}{hint}"


def read_observation(given: object, space: gymnasium.spaces.Box, place: Place) -> Float[np.ndarray, " d"]:
    """A flat float32 copy; environments may write into what they gave."""
    return read_numbers("observation", given, space.shape, place).reshape(-1)


def read_numbers(field: str, given: object, shape: tuple[int, ...], place: Place) -> np.ndarray:
    """A float32 array of this shape; anything else is the environment's fault."""
    array = _as_array(given)
    if array.dtype.kind not in "biuf":
        raise EnvironmentFailed(f"{field} is {type(given).__name__} {_short(given)}, not an array of numbers", place)
    if array.shape != shape:
        raise EnvironmentFailed(f"{field} has shape {array.shape}, where {shape} is expected", place)
    with np.errstate(over="ignore"):  # what is beyond float32 becomes infinite, and is then seen
        return array.astype(np.float32)


def read_reward(given: object, place: Place) -> float:
    """One number, as float32 has it."""
    array = _as_array(given)
    if array.dtype.kind not in "biuf" or array.size != 1:
        raise EnvironmentFailed(f"reward is {type(given).__name__} {_short(given)}, not one number", place)
    with np.errstate(over="ignore"):
        return float(array.reshape(()).astype(np.float32))


def read_flag(field: str, given: object, place: Place) -> bool:
    """True or False, also where it comes as 0 or 1."""
    if isinstance(given, bool | np.bool_):
        return bool(given)
    array = _as_array(given)
    if array.dtype.kind not in "biuf" or array.size != 1 or not np.isin(array, (0, 1)).all():
        raise EnvironmentFailed(f"{field} is {type(given).__name__} {_short(given)}, not True or False", place)
    return bool(array.reshape(()))


def unpack(method: str, result: object, length: int, place: Place) -> tuple:
    """The tuple that ``step`` or ``reset`` must give."""
    if not isinstance(result, tuple) or len(result) != length:
        what = f"{len(result)} values" if isinstance(result, tuple) else type(result).__name__
        wanted = "(observation, reward, terminated, truncated, info)" if length == 5 else "(observation, info)"
        raise EnvironmentFailed(f"{method}() gave {what}, where Gymnasium asks for {wanted}", place)
    return result


def _as_array(given: object) -> np.ndarray:
    try:
        return np.asarray(given)
    except ValueError:  # a ragged list
        return np.empty(0, dtype=object)


def _short(given: object) -> str:
    shown = repr(given)
    return shown if len(shown) <= 60 else shown[:57] + "..."
