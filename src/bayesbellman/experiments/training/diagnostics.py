"""What an agent believes at some moments of its training, for `bbo report`: looked at, and nothing in it changed."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bayesbellman.control.train import Played
from bayesbellman.doors.agent import Agent
from bayesbellman.envs.spaces import Box
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
CELLS = 32
"""Of the state space along each of its two dimensions"""
MOST_MEMBERS = 16
MOST_ACTIONS = 4
"""Of which maps are kept"""


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
    policy's mean action, over the members) and the discounted return that followed. ``episode_*``: the same at points
    along the first of these episodes. ``grid_*``, where observations have two dimensions: each member's value, their
    deviation, the policy's mean action and the number of visits, over position (rows) and velocity (columns).
    """
    played = agent.play(episodes, keep=KEEP)
    to_go = returns_to_go(played, agent.discount)
    along = _points(played, to_go)
    starts = played.observations[:, 0]
    flat = agent.spaces.observation.size
    grid, maps = np.zeros((0, flat), np.float32), {}
    if flat == 2:
        visited = agent.player.visited()
        low, high = bounds(agent.spaces.observation, visited)
        grid = cells(low, high)
        maps["grid_low"], maps["grid_high"] = low, high
        edges = [np.linspace(low[axis], high[axis], CELLS + 1) for axis in (0, 1)]
        clipped = np.clip(visited, low, high)
        maps["grid_visits"] = np.histogram2d(clipped[:, 0], clipped[:, 1], edges)[0].astype(np.uint32)  # pyright: ignore[reportArgumentType]
        actions, _ = agent.predict(grid, deterministic=True)
        shaped = actions.reshape(CELLS, CELLS, -1)[..., :MOST_ACTIONS]
        maps["grid_action"] = _small(np.moveaxis(shaped, -1, 0))
    rows = np.concatenate([starts, along.observations.reshape(-1, flat), grid])
    values = agent.uncertainty(rows, members=True)
    assert values.members is not None
    first, second = len(starts), len(starts) + along.steps.size
    if flat == 2:
        maps["grid_members"] = _small(values.members[:MOST_MEMBERS, second:].reshape(-1, CELLS, CELLS))
        maps["grid_std"] = _small(values.std[second:].reshape(CELLS, CELLS))
    return {
        "members": np.asarray(len(values.members), np.int32),
        "start_mean": values.mean[:first],
        "start_std": values.std[:first],
        "start_realised": to_go[:, 0].astype(np.float32),
        "start_return": np.asarray(played.returns, np.float32),
        "episode_length": np.asarray(played.lengths[: len(along.steps)], np.int32),
        "episode_steps": along.steps.astype(np.int32),
        "episode_mean": _small(values.mean[first:second].reshape(along.steps.shape)),
        "episode_std": _small(values.std[first:second].reshape(along.steps.shape)),
        "episode_realised": _small(along.realised),
        **maps,
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


def bounds(space: Box, visited: Float[np.ndarray, "N d"]) -> tuple[np.ndarray, np.ndarray]:
    """Of the space; where it has none, of what was visited."""
    low, high = np.asarray(space.low), np.asarray(space.high)
    least, most = (visited.min(axis=0), visited.max(axis=0)) if len(visited) else (low * 0 - 1, high * 0 + 1)
    low, high = np.where(np.isfinite(low), low, least), np.where(np.isfinite(high), high, most)
    return low.astype(np.float32), np.where(high > low, high, low + 1).astype(np.float32)


def cells(low: np.ndarray, high: np.ndarray) -> Float[np.ndarray, "M 2"]:
    """Centres of the cells of a plane, row by row along the first dimension."""
    share = (np.arange(CELLS) + 0.5) / CELLS
    first, second = (low[axis] + share * (high[axis] - low[axis]) for axis in (0, 1))
    return np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.float32)


def _small(array: np.ndarray) -> np.ndarray:
    """In half precision, where its range allows."""
    return array.astype(np.float16 if np.all(np.abs(array) < 6e4) else np.float32)
