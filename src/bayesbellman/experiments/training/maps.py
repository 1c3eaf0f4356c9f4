"""What an agent believes all over the state space, where that can be drawn: a plane, or a square of cells."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesbellman.doors.agent import Agent
from bayesbellman.envs.deep_sea import DeepSea
from bayesbellman.envs.spaces import Box, Discrete, Spaces

CELLS = 32
"""Of a plane, along each of its two dimensions"""
MOST_SQUARE = 50
"""Cells along a side of a square that is still drawn"""
MOST_MEMBERS = 16
MOST_ACTIONS = 4
"""Of which maps are kept"""

Ask = Callable[[int], np.ndarray]
"""Each member's values of one action in every cell, ``[L, M]``"""
Arrays = dict[str, np.ndarray]


class Plane:
    """Observations of two numbers, cut into cells: the first along the rows of a map, the second along its columns."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.visited = agent, agent.player.visited()
        self.low, self.high = bounds(agent.spaces.observation, self.visited)
        self.observations = cells(self.low, self.high)

    def maps(self, members: Float[np.ndarray, "L M"], ask: Ask) -> Arrays:
        edges: Any = [np.linspace(self.low[axis], self.high[axis], CELLS + 1) for axis in (0, 1)]
        clipped = np.clip(self.visited, self.low, self.high)
        actions, _ = self.agent.predict(self.observations, deterministic=True)
        shaped = actions.reshape(CELLS, CELLS, -1)[..., :MOST_ACTIONS]
        return {
            "grid_low": self.low,
            "grid_high": self.high,
            "grid_visits": np.histogram2d(clipped[:, 0], clipped[:, 1], edges)[0].astype(np.uint32),
            "grid_action": small(np.moveaxis(shaped, -1, 0)),
            "grid_members": small(members[:MOST_MEMBERS].reshape(-1, CELLS, CELLS)),
            "grid_std": small(members.std(axis=0).reshape(CELLS, CELLS)),
        }


class Square:
    """One-hot observations of a number of cells that is a square, row by row.

    Values are of the action that is best: for each member its own, so that a map shows what it would act on.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.size = agent.spaces.observation.size
        self.side = math.isqrt(self.size)
        self.visits = agent.player.visited().sum(axis=0)
        self.observations = np.eye(self.size, dtype=np.float32)

    def maps(self, members: Float[np.ndarray, "L M"], ask: Ask) -> Arrays:
        space = self.agent.spaces.action
        assert isinstance(space, Discrete)
        values = np.stack([ask(action) for action in range(space.number)])
        best, own = values.max(axis=0), values.argmax(axis=0)
        by_mean = values.mean(axis=1).argmax(axis=0)
        chosen, share = by_mean.astype(float), np.mean(own == by_mean, axis=0)
        shape = (self.side, self.side)
        there = np.ones(shape, bool)
        sea = _sea(self.agent)
        if sea is not None:  # which of the two actions goes right differs from cell to cell, and tells nobody anything
            right = np.asarray(sea.mapping).reshape(-1)
            chosen, share = (by_mean == right).astype(float), np.mean(own == right, axis=0)
            there = np.tri(self.side, dtype=bool)
        return {
            "grid_there": there,
            "grid_goes_right": np.asarray(sea is not None),
            "grid_visits": self.visits.astype(np.uint32).reshape(shape),
            "grid_action": small(np.stack([chosen, share]).reshape(2, *shape)),
            "grid_members": small(best[:MOST_MEMBERS].reshape(-1, *shape)),
            "grid_mean": small(best.mean(axis=0).reshape(shape)),
            "grid_std": small(best.std(axis=0).reshape(shape)),
        }


def canvas_of(agent: Agent) -> Plane | Square | None:
    """What to draw on, if the state space can be drawn."""
    kind = kind_of(agent.spaces)
    return None if kind is None else kind(agent)


def kind_of(spaces: Spaces) -> type[Plane] | type[Square] | None:
    space = spaces.observation
    if space.one_hot:
        side = math.isqrt(space.size)
        square = side**2 == space.size and 2 <= side <= MOST_SQUARE
        return Square if square and isinstance(spaces.action, Discrete) else None
    return Plane if space.size == 2 else None


def _sea(agent: Agent) -> DeepSea | None:
    env = agent.training.env if agent.training is not None else None
    return env if isinstance(env, DeepSea) else None


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


def small(array: np.ndarray) -> np.ndarray:
    """In half precision, where its range allows."""
    return array.astype(np.float16 if np.all(np.abs(array) < 6e4) else np.float32)
