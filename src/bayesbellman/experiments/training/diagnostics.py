"""What an agent believes at some moments of its training, for `bbo report`: looked at, and nothing in it changed."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bayesbellman.control.train import Played
from bayesbellman.doors.agent import Agent
from bayesbellman.envs.spaces import Discrete
from bayesbellman.experiments.training.maps import canvas_of, small
from bayesbellman.runs.arrays import read_arrays, write_arrays

MOST_MOMENTS = 12
MOST_EPISODES = 10
"""Whose predicted and realised returns are kept"""
SHOWN_EPISODES = 3
"""Of these, the ones that are kept step by step"""
POINTS = 64
"""At most so many of an episode's steps"""
KEEP = 1_000
"""Of an episode longer than this, what comes later counts in its return, and is not shown"""
MOST_KEPT = 10**7
"""Numbers of all observations that are kept while episodes are played; large ones are kept for fewer steps"""


class Diagnostics:
    """Of one seed, in its own folder. ``steps``, ``every``, ``episodes``: of the run and its evaluations."""

    def __init__(self, folder: Path, steps: int, every: int, episodes: int) -> None:
        self.folder, self.episodes = folder, min(episodes, MOST_EPISODES)
        self.due = moments(steps, every)

    def after_evaluation(self, agent: Agent, steps: int, *, last: bool) -> None:
        """Record, if it is one of the chosen moments or the run ends here."""
        if last or steps in self.due:
            self.record(agent, steps)

    def record(self, agent: Agent, steps: int) -> Path:
        """Write down the moment; once more at the same step writes the same."""
        self.folder.mkdir(exist_ok=True)
        path = self.folder / file_name(steps)
        write_arrays(path, look(agent, self.episodes))
        return path


def moments(steps: int, every: int) -> set[int]:
    """Of a run's evaluations the first, the last, and some between: ever further apart, as beliefs change ever less."""
    evaluations = -(-steps // every)
    number = min(MOST_MOMENTS, evaluations)
    chosen = np.maximum(np.geomspace(1, evaluations, number).round().astype(int), 1 + np.arange(number))
    return {min(int(place) * every, steps) for place in chosen}


def file_name(steps: int) -> str:
    return f"steps-{steps:08d}.npz"


def recorded(folder: Path) -> list[Path]:
    """Files of moments, in order."""
    return sorted(folder.glob("steps-*.npz"), key=lambda path: (len(path.name), path.name))


def read_moment(path: Path) -> dict[str, np.ndarray]:
    """The arrays of one moment; `look` says which."""
    return read_arrays(path)


class Episodes(NamedTuple):
    """Points along the shown episodes: the same number for each, so that shapes do not change from moment to moment."""

    steps: np.ndarray
    observations: np.ndarray
    realised: np.ndarray


def look(agent: Agent, episodes: int) -> dict[str, np.ndarray]:
    """What the agent believes now.

    ``start_mean``, ``start_std``, ``start_realised``: for each episode of an evaluation, value of its start (with the
    action that evaluations play, over the members) and the discounted return that followed. ``episode_*``: the same at
    points along the first of these episodes. ``grid_*``, where the state space can be drawn: `maps`. ``num_actions``: 0
    where they are continuous.
    """
    flat = agent.spaces.observation.size
    played = agent.play(episodes, keep=max(1, min(KEEP, MOST_KEPT // (episodes * flat))))
    to_go = returns_to_go(played, agent.discount)
    along = _points(played, to_go)
    starts = played.observations[:, 0]
    canvas = canvas_of(agent)
    parts = [starts, along.observations.reshape(-1, flat)]
    rows = np.concatenate(parts if canvas is None else [*parts, canvas.observations])  # one shape: compiled once
    values = agent.uncertainty(rows, members=True)
    assert values.members is not None
    first, second = len(starts), len(starts) + along.steps.size

    def ask(action: int) -> np.ndarray:
        members = agent.uncertainty(rows, np.full(len(rows), action), members=True).members
        assert members is not None
        return members[:, second:]

    space = agent.spaces.action
    return {
        "members": np.asarray(len(values.members), np.int32),
        "num_actions": np.asarray(space.number if isinstance(space, Discrete) else 0, np.int32),
        "start_mean": values.mean[:first],
        "start_std": values.std[:first],
        "start_realised": to_go[:, 0].astype(np.float32),
        "start_return": np.asarray(played.returns, np.float32),
        "episode_length": np.asarray(played.lengths[: len(along.steps)], np.int32),
        "episode_steps": along.steps.astype(np.int32),
        "episode_mean": small(values.mean[first:second].reshape(along.steps.shape)),
        "episode_std": small(values.std[first:second].reshape(along.steps.shape)),
        "episode_realised": small(along.realised),
        **({} if canvas is None else canvas.maps(values.members[:, second:], ask)),
    }


def returns_to_go(played: Played, discount: float) -> Float[np.ndarray, "episodes K"]:
    """The discounted return from each kept step on."""
    to_go = np.zeros(played.rewards.shape)
    following = np.asarray(played.rest, float)
    for time in reversed(range(played.rewards.shape[1])):
        following = played.rewards[:, time] + discount * following
        to_go[:, time] = following
    return to_go


def _points(played: Played, to_go: np.ndarray) -> Episodes:
    lengths = np.minimum(played.lengths[:SHOWN_EPISODES], played.rewards.shape[1])
    steps = np.stack([np.linspace(0, max(length - 1, 0), POINTS).round().astype(int) for length in lengths])
    row = np.arange(len(steps))[:, None]
    return Episodes(steps, played.observations[row, steps], to_go[row, steps])
