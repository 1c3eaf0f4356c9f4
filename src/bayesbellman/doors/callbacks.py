"""What a user can do while an agent learns: look on, and end it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from bayesbellman.doors.checks import finite_number, whole_number

if TYPE_CHECKING:
    from bayesbellman.doors.agent import Agent


class Progress(NamedTuple):
    """What a callback is told after each piece of training."""

    steps: int
    """Taken so far"""
    returns: Float[np.ndarray, " episodes"]
    """Of the episodes that ended in this piece"""
    metrics: dict[str, float]
    """Means over its updates, and the ensemble's disagreement"""


class Callback:
    """Write what you need of these three. Returning False ends `learn` after the piece that is going on."""

    def on_chunk(self, agent: "Agent", progress: Progress) -> bool | None:
        """After each piece of at most 1,000 steps."""

    def on_episode(self, agent: "Agent", episode_return: float) -> bool | None:
        """For each episode of training that ended; all those of a piece, in order, before its `on_chunk`."""

    def on_checkpoint(self, agent: "Agent", path: Path) -> bool | None:
        """After a checkpoint was written (see `Checkpoints`)."""


class StopAtReturn(Callback):
    """Ends `learn` when the mean return of the last episodes of training reaches a target."""

    def __init__(self, target: float, episodes: int = 10) -> None:
        episodes = whole_number("episodes", episodes)
        if episodes < 1:
            raise ValueError(f"episodes is {episodes}; it must be >= 1")
        self.target, self.episodes = finite_number("target", target), episodes
        self._last: list[float] = []

    def on_episode(self, agent: "Agent", episode_return: float) -> bool:
        self._last = [*self._last, episode_return][-self.episodes :]
        return len(self._last) < self.episodes or float(np.mean(self._last)) < self.target


PlainCallback = Callable[["Agent", Progress], bool | None]
"""Called after each piece"""
AnyCallback = PlainCallback | Callback | Sequence[PlainCallback | Callback]


class _Plain(Callback):
    def __init__(self, function: PlainCallback) -> None:
        self.function = function

    def on_chunk(self, agent: "Agent", progress: Progress) -> bool | None:
        return self.function(agent, progress)


def as_callbacks(given: AnyCallback | None) -> list[Callback]:
    """Each as a `Callback`."""
    if given is None:
        return []
    several = list(given) if isinstance(given, Sequence) else [given]
    for one in several:
        if not isinstance(one, Callback) and not callable(one):
            raise TypeError(f"callback is {one!r}; accepted are functions, bb.Callback, and lists of them")
    return [one if isinstance(one, Callback) else _Plain(one) for one in several]


def go_on(callbacks: Sequence[Callback], agent: "Agent", told: Progress) -> bool:
    """Tell all of them of a piece, and of checkpoints that were written on it; False if one has had enough."""
    answers = [one.on_episode(agent, float(value)) for value in told.returns for one in callbacks]
    answers += [one.on_chunk(agent, told) for one in callbacks]
    written = [path for one in callbacks if (path := getattr(one, "just_written", None)) is not None]
    answers += [one.on_checkpoint(agent, path) for path in written for one in callbacks]
    return not any(_is_false(answer) for answer in answers)


def _is_false(answer: object) -> bool:
    """NumPy's and JAX's False too, as comparisons of returns give them; None and numbers say nothing."""
    return (isinstance(answer, bool) or getattr(answer, "dtype", None) == np.bool_) and not answer
